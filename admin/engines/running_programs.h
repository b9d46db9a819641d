// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/sysroot.h"

namespace ogh::admin {

/** A process of the host, and the command line that it shows. */
struct RunningProgram {
    pid_t pid;
    std::vector<std::string> words; ///< never empty
};

/** Those whose command line is wanted, by number; what ends meanwhile is left out. */
std::vector<RunningProgram>
running_programs(const Sysroot &sysroot,
                 const std::function<bool(const std::vector<std::string> &)> &is_wanted);

/** The environment that the process was started with, the last of equal names. @throws Error (Host) */
std::map<std::string, std::string> environment_of(const Sysroot &sysroot, pid_t pid);

/** Where its executable lies, as the process names it. @return nothing if that is not known */
std::optional<std::string> executable_of(const Sysroot &sysroot, pid_t pid);

/** When it was started, in seconds of the Unix epoch, to about a second. @return nothing if that is not known */
std::optional<std::int64_t> started_at(const Sysroot &sysroot, pid_t pid);

/** Whether the process has the mount namespace and the root of this one, so that names mean the same to both. */
bool shares_root(const Sysroot &sysroot, pid_t pid);

} // namespace ogh::admin
