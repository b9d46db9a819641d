// SPDX-License-Identifier: Apache-2.0
#include "cgroup/device_cgroups.h"

#include <cerrno>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cgroup/cgroup_directory.h"
#include "kernel/mount_table.h"

namespace ogh {

namespace {

constexpr size_t max_proc_cgroup = size_t{1} << 20U;

/** The processes whose cgroups are looked up. */
struct CgroupNames {
    std::string init; ///< its /proc/PID/cgroup
    std::string runtime;
    std::string cgroups_path;
};

/** What there is of the container in one hierarchy. */
struct OwnCgroups {
    std::vector<Cgroup> cgroups = {}; ///< outermost first
    std::vector<std::string> scopes = {};
};

/** The container's own; none if it has none there, or they cannot be reached: that is noted. */
OwnCgroups open_cgroups(const MountTable &mounts, const std::string &controller, const CgroupNames &names,
                        Notes &notes)
{
    const std::optional<std::string> init = cgroup_of(names.init, controller);
    const std::optional<std::string> runtime = cgroup_of(names.runtime, controller);
    if (!init || !runtime)
        return {};
    const std::vector<std::string> paths = container_cgroups(*init, *runtime, names.cgroups_path);
    OwnCgroups own{{}, scope_cgroups(paths, *runtime, names.cgroups_path)};
    for (const std::string &path : paths) {
        CgroupDirectory directory = open_cgroup(mounts, controller, path);
        if (!directory.fd.valid()) {
            notes.push_back({LogLevel::Info, "no mount of this host shows the container's device cgroup " +
                                                 quote(path) + "; it is left as it is"});
            return {};
        }
        own.cgroups.push_back({std::move(directory.fd), path});
    }
    return own;
}

} // namespace

bool is_refusal(int error_number)
{
    return error_number == EPERM || error_number == EACCES || error_number == EROFS;
}

DeviceCgroups::DeviceCgroups(const ProcFs &proc, const MountTable &mounts, pid_t init,
                             const std::string &cgroups_path)
{
    const CgroupNames names{
        read_all(proc.open_of(init, "cgroup").get(), max_proc_cgroup, "the init process's cgroups"),
        read_all(proc.open_self("cgroup").get(), max_proc_cgroup, "this process's cgroups"), cgroups_path};
    OwnCgroups first = open_cgroups(mounts, "devices", names, notes_);
    OwnCgroups second = open_cgroups(mounts, "", names, notes_);
    // systemd gives a unit the same path in both.
    scopes_ = std::move(first.scopes.empty() ? second.scopes : first.scopes);
    first_ = std::move(first.cgroups);
    second_ = std::move(second.cgroups);
    if (first_.empty() && second_.empty() && notes_.empty())
        notes_.push_back({LogLevel::Info, "the container has no device cgroup of its own; none is changed"});
}

Notes DeviceCgroups::allow(const DeviceRules &rules, UndoLog &undo)
{
    Notes notes = std::exchange(notes_, {});
    const DeviceRules wanted = checked(rules);
    if (wanted.empty())
        return notes;
    const auto add = [&](Notes more) { notes.insert(notes.end(), more.begin(), more.end()); };
    if (!first_.empty())
        add(allow_v1(first_, wanted, undo));
    if (!second_.empty())
        add(allow_v2(second_, wanted, undo));
    return notes;
}

void DeviceCgroups::deny(const DeviceRules &rules)
{
    if (first_.empty() && second_.empty())
        throw Error(ErrorKind::BrokenHost, notes_.empty() ? "it has no device cgroup" : notes_.front().text);
    const DeviceRules unwanted = checked(rules);
    if (!first_.empty())
        deny_v1(first_, unwanted);
    else
        deny_v2(second_, unwanted);
}

bool DeviceCgroups::begin_at(const std::string &path) const
{
    const auto do_all = [&](const std::vector<Cgroup> &all) {
        return all.empty() || all.front().path == path;
    };
    return do_all(first_) && do_all(second_);
}

} // namespace ogh
