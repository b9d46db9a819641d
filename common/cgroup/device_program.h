// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/bpf.h>

#include <string>
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

/** What the program answers to this access exactly. */
Verdict run(const DeviceProgram &program, const DeviceRule &asked);

/** What the program answers to `rule`: it allows that if it allows each part of the access and all at once. */
Verdict verdict(const DeviceProgram &program, const DeviceRule &rule);

/** Those of `rules` that the program is not known to allow. */
DeviceRules not_allowed(const DeviceProgram &program, const DeviceRules &rules);

/**
 * Why a program that was read back cannot be loaded again, for a person; "" if nothing is known to be in the way.
 * No instructions at all are what the kernel shows of a program that it has hardened.
 */
std::string obstacle(const DeviceProgram &program);

/**
 * A program that allows `rules`, checked(), or denies what has any of the access of one of them, and answers as `program` does to
 * all else. What the kernel put into `program` when it was loaded, and would not take from us, is taken back.
 */
DeviceProgram with_answer(const DeviceProgram &program, const DeviceRules &rules, Verdict answer);

} // namespace ogh
