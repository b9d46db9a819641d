// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cgroup/device_cgroup.h"

namespace ogh {

/** Version 1: lists of rules, in devices.list; a cgroup never has more than its parent. */
class DeviceCgroupV1 final : public DeviceCgroup {
public:
    /** @param cgroups outermost first, each the parent of the next */
    explicit DeviceCgroupV1(std::vector<Cgroup> cgroups) : cgroups_(std::move(cgroups)) {}
    DeviceCgroupV1(const DeviceCgroupV1 &) = delete;
    DeviceCgroupV1 &operator=(const DeviceCgroupV1 &) = delete;
    ~DeviceCgroupV1() override;

    Notes allow(const DeviceRules &rules) override;
    void undo() noexcept override;
    void keep() noexcept override { done_.clear(); }

private:
    /** What takes one change back. */
    struct Undo {
        int cgroup = -1;
        DeviceRule denied;
    };

    void allow_in(const Cgroup &cgroup, const DeviceRules &rules);
    void check_above(const DeviceRules &rules) const;

    std::vector<Cgroup> cgroups_;
    std::vector<Undo> done_;
};

} // namespace ogh
