// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "cgroup/device_program.h"

/**
 * The calls of bpf(2) that device programs of cgroups need, and no more. Every failure is a SystemError; EPERM and
 * EACCES mean that this process may not do it: CAP_SYS_ADMIN in the host's own user namespace, and CAP_NET_ADMIN for
 * the questions before Linux 6.4.
 */
namespace ogh::bpf {

/** The device programs of a cgroup. */
struct Attached {
    std::vector<std::uint32_t> ids; ///< in the order in which they run
    std::uint32_t flags = 0;        ///< BPF_F_ALLOW_MULTI, BPF_F_ALLOW_OVERRIDE, or 0 for the oldest way
};

/** Those that were attached to this very cgroup, `cgroup` being an open directory of a cgroup2 filesystem. */
Attached attached_programs(int cgroup);

/** Those that decide for a process in the cgroup: its own and its ancestors'. */
std::vector<std::uint32_t> effective_programs(int cgroup);

/** @return nothing if there is no such program any more */
std::optional<UniqueFd> open_program(std::uint32_t id);

/** A loaded program. */
struct ProgramInfo {
    std::string name;
    DeviceProgram instructions; ///< none if the kernel does not show them
};

ProgramInfo read_program(int program);

/** @param name at most 15 letters, digits, `_` and `.`: what bpftool shows */
UniqueFd load_program(const DeviceProgram &instructions, const std::string &name);

/**
 * Attaches with the flags given, which must be those that the cgroup has.
 * @param old is replaced in one step; without BPF_F_ALLOW_MULTI that is the one that is there. ENOENT: it is not there
 */
void attach_program(int cgroup, int program, std::uint32_t flags, int old = -1);

/** The link by which a device program is attached to the cgroup; nothing if there is none. */
std::optional<UniqueFd> find_link(int cgroup, std::uint32_t program_id);

/** Puts `program` in the place of `old` in the link, in one step. */
void update_link(int link, int program, int old);

} // namespace ogh::bpf
