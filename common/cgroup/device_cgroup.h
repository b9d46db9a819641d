// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "base/undo_log.h"
#include "base/unique_fd.h"
#include "edits/device_rule.h"

namespace ogh {

/** An open folder of a cgroup filesystem. */
struct Cgroup {
    UniqueFd fd;
    std::string path; ///< as /proc/PID/cgroup names it; for messages
};

/** The device cgroups of one hierarchy that belong to one container. */
class DeviceCgroup {
public:
    DeviceCgroup() = default;
    DeviceCgroup(const DeviceCgroup &) = delete;
    DeviceCgroup &operator=(const DeviceCgroup &) = delete;
    virtual ~DeviceCgroup() = default;

    /**
     * Lets the container use further devices; what it may use already stays as it is.
     * @param rules checked()
     * @param undo gets how to take back what was allowed; this outlives what is added
     * @return what was done, or in one note that it is not for this process to do
     * @throws Error (BrokenHost) if a cgroup above the container's own denies a rule, or a program cannot be changed;
     *         then nothing is changed
     */
    virtual Notes allow(const DeviceRules &rules, UndoLog &undo) = 0;
};

/** Whether a call failed because this process may not do it. */
bool is_refusal(int error_number);

} // namespace ogh
