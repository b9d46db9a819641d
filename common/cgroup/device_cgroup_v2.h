// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "cgroup/device_cgroup.h"
#include "cgroup/device_program.h"

namespace ogh {

/**
 * Version 2: programs that are attached to cgroups. All that apply to a process must allow an access, so each is
 * replaced by one that allows the rules and otherwise does the same. Without a program everything is allowed.
 */
class DeviceCgroupV2 final : public DeviceCgroup {
public:
    /** @param cgroups outermost first, each the parent of the next */
    explicit DeviceCgroupV2(std::vector<Cgroup> cgroups) : cgroups_(std::move(cgroups)) {}

    Notes allow(const DeviceRules &rules, UndoLog &undo) override;

private:
    /** A program that is attached, and the one that takes its place. */
    struct Replacement {
        const Cgroup *cgroup;
        std::uint32_t flags; ///< with which the old one is attached
        std::uint32_t old_id;
        UniqueFd old_program;
        UniqueFd new_program;
        UniqueFd link = UniqueFd(); ///< by which it is attached, if it is
    };

    void allow_all(const DeviceRules &rules, UndoLog &undo, Notes &notes);
    static std::vector<Replacement> prepare(const Cgroup &cgroup, const DeviceRules &rules);
    static std::optional<Replacement> prepare_one(const Cgroup &cgroup, std::uint32_t id,
                                                  const DeviceRules &rules);
    static void put(Replacement &next);
    static void take_back(const Replacement &done) noexcept;
    void check_above(const DeviceRules &rules, Notes &notes) const;

    std::vector<Cgroup> cgroups_;
};

} // namespace ogh
