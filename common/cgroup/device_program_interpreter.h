// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/bpf.h>

#include <vector>

#include "edits/device_rule.h"

namespace ogh {

/**
 * The instructions of a program of type BPF_PROG_TYPE_CGROUP_DEVICE (RFC 9669 has the instruction set). It gets a
 * struct bpf_cgroup_dev_ctx in R1 and allows what it is asked for unless it returns 0. The kernel passes that
 * struct as it is: instructions read back from it have the same offsets as those that were loaded.
 */
using DeviceProgram = std::vector<bpf_insn>;

enum class Verdict {
    Allows,
    Denies,
    Unknown, ///< it calls functions, reads maps, or could not be read
};

/** What a program is run with. */
struct ProgramRun {
    const DeviceProgram &program;
    DeviceRule asked; ///< this access exactly
};

/**
 * Does here what the kernel would do: nobody can ask it what a device program answers. Only arithmetic, jumps,
 * the context and the stack are known; whatever else the program does makes the answer Unknown. It ends.
 */
Verdict run(const ProgramRun &run);

} // namespace ogh
