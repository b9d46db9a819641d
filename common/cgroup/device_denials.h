// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "edits/device_rule.h"
#include "kernel/proc_fs.h"

namespace ogh {

/** What is in the way of a process that wants to use a device. */
struct DeviceDenial {
    DeviceRule rule;
    std::string by;  ///< "the program 'name' (id 7) of the cgroup '/a/b'"
    bool is_certain; ///< false: a program that cannot be understood
};

/**
 * Which device cgroups, of the process's own up to the topmost, deny what. Nothing is changed.
 * @throws Error if that cannot be found out: a SystemError with EPERM or EACCES, this process may not ask
 */
std::vector<DeviceDenial> find_denials(const ProcFs &proc, pid_t pid, const DeviceRules &rules);

} // namespace ogh
