// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/undo_log.h"
#include "base/unique_fd.h"
#include "edits/device_rule.h"

namespace ogh {

/** An open directory of a cgroup filesystem. */
struct Cgroup {
    UniqueFd fd;
    std::string path; ///< as /proc/PID/cgroup names it; for messages
};

/**
 * Lets the container whose cgroups these are use further devices; what it may use already stays as it is. Version 1 has
 * lists of rules, in devices.list; a cgroup never has more than its parent.
 * @param cgroups its own, outermost first, each the parent of the next
 * @param rules checked()
 * @param undo gets how to take back what was allowed; `cgroups` outlives what is added
 * @return what was done, or in one note that it is not for this process to do
 * @throws Error (BrokenHost) if a cgroup above the container's own denies a rule, or a program cannot be changed;
 *         then nothing is changed
 */
Notes allow_v1(const std::vector<Cgroup> &cgroups, const DeviceRules &rules, UndoLog &undo);

/**
 * The same for version 2, which has programs that are attached to cgroups. All that apply to a process must allow an
 * access, so each is replaced by one that allows the rules and otherwise does the same. Without a program everything is
 * allowed.
 */
Notes allow_v2(const std::vector<Cgroup> &cgroups, const DeviceRules &rules, UndoLog &undo);

/**
 * Denies the container whose cgroups these are the devices, with any of the access of a rule; all else stays as it is. What
 * is denied already stays denied. allow_v1() and allow_v2() of the same rules put it back, also of what was left half done.
 * @throws Error (BrokenHost) if it cannot be, as it is not for this process to change, or another rule allows to open
 *         the device: then some of it may be denied
 */
void deny_v1(const std::vector<Cgroup> &cgroups, const DeviceRules &rules);

/** The same for version 2. A container of which no cgroup has a program has all devices, and cannot be denied some. */
void deny_v2(const std::vector<Cgroup> &cgroups, const DeviceRules &rules);

/**
 * Whether devices.list of a cgroup of version 1 allows all of the rule. One line has to: the kernel does not put lines
 * together. "a *:* rwm" stands for all devices, even if some were denied: that is not shown.
 */
bool list_allows(std::string_view devices_list, const DeviceRule &rule);

/** The access in the line for exactly this device, 0 if there is none. */
unsigned access_in_own_line(std::string_view devices_list, const DeviceRule &rule);

/** Whether a call failed because this process may not do it. */
bool is_refusal(int error_number);

} // namespace ogh
