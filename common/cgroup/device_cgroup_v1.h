// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cgroup/device_cgroup.h"

namespace ogh {

/** Version 1: lists of rules, in devices.list; a cgroup never has more than its parent. */
class DeviceCgroupV1 final : public DeviceCgroup {
public:
    /** @param cgroups outermost first, each the parent of the next */
    explicit DeviceCgroupV1(std::vector<Cgroup> cgroups) : cgroups_(std::move(cgroups)) {}

    Notes allow(const DeviceRules &rules, UndoLog &undo) override;

private:
    void check_above(const DeviceRules &rules) const;

    std::vector<Cgroup> cgroups_;
};

} // namespace ogh
