// SPDX-License-Identifier: Apache-2.0
#include "lease/gpu_users.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <string_view>

#include "base/number.h"
#include "base/text.h"
#include "cgroup/cgroup_directory.h"

namespace ogh {

namespace {

/** PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h, the same on every host. */
constexpr std::uint64_t first_pid_namespace = 0xEFFFFFFC;

/** Device and inode, as the kernel has them: no filesystem is asked. Empty if it is not there. */
std::vector<std::uint64_t> file_identity(int directory, const std::string &path)
{
    struct statx status {};
    const int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
    if (::statx(directory, path.c_str(), flags, STATX_INO, &status) != 0)
        return {};
    return {status.stx_dev_major, status.stx_dev_minor, status.stx_ino};
}

/** Of the line of /proc/PID/status, which escapes what would end it. */
std::string value_in(std::string_view status, std::string_view label)
{
    const size_t start = status.find(label);
    if (start == std::string_view::npos)
        return "";
    status.remove_prefix(start + label.size());
    return std::string(status.substr(0, status.find_first_of("\t\n")));
}

bool runs_in(const GpuUser &user, const OwnCgroup &cgroup)
{
    const auto path = cgroup_of(user.cgroups, cgroup.controller);
    return path && path->starts_with(cgroup.path) &&
           (path->size() == cgroup.path.size() || (*path)[cgroup.path.size()] == '/');
}

bool is_of(const Processes &processes, const GpuUser &user, const Holder &holder)
{
    if (holder.cgroup)
        return runs_in(user, *holder.cgroup);
    if (user.process == holder.init)
        return true;
    const auto own = processes.pid_namespace_of(std::to_string(user.process.pid));
    return holder.own_pid_namespace && own &&
           own == processes.pid_namespace_of(std::to_string(holder.init.pid));
}

bool has_some_of(const Allocation &allocation, const LeaseKey &gpu)
{
    return std::any_of(allocation.devices.begin(), allocation.devices.end(),
                       [&](const LeasedDevice &device) { return gpu_of(device.key) == gpu; });
}

} // namespace

bool Monitors::has(const Processes &processes, pid_t pid) const
{
    const UniqueFd directory = processes.open_directory(std::to_string(pid));
    const UniqueFd own = processes.open_directory("self");
    if (!directory.valid() || file_identity(directory.get(), "ns/mnt") != file_identity(own.get(), "ns/mnt"))
        return false;
    if (!known_) {
        known_.emplace();
        for (const Monitor &one : all_) {
            const auto found = sysroot_.find(one.file);
            for (const uid_t user : {uid_t{0}, one.user}) {
                if (found)
                    known_->emplace(file_identity(found->fd.get(), ""), user);
            }
        }
    }
    const Identity program = file_identity(directory.get(), "exe");
    const auto user = real_user_of(processes, pid);
    return !program.empty() && user && known_->contains({program, *user});
}

std::optional<uid_t> real_user_of(const Processes &processes, pid_t pid)
{
    const auto status = processes.read(pid, "status");
    return status ? parse_small_number(value_in(*status, "\nUid:\t"), UINT_MAX) : std::nullopt;
}

std::string why_unknown(const Processes &processes)
{
    return processes.space().pid_namespace == first_pid_namespace
               ? ""
               : "this is not the first pid namespace of the host, and shows some of its processes alone";
}

std::optional<GpuUser> user_of(const Processes &processes, pid_t pid, std::set<LeaseKey> gpus)
{
    const auto held = processes.open_pidfd(pid);
    const auto status = processes.read(pid, "status");
    auto cgroups = processes.read(pid, "cgroup");
    if (!held || !status || !cgroups || has_ended(held->pidfd.get()))
        return std::nullopt;
    return GpuUser{held->id, value_in(*status, "Name:\t"), value_in(*status, "\nUid:\t"), std::move(*cgroups),
                   std::move(gpus)};
}

std::map<LeaseKey, std::string> used_by_others(const Processes &processes, const LeaseState &state,
                                               const GpuUsers &all)
{
    std::map<LeaseKey, std::string> used;
    const auto is_entitled = [&](const GpuUser &user, const LeaseKey &gpu) {
        const auto is_it = [&](const Allocation &one) {
            return has_some_of(one, gpu) && is_of(processes, user, one.holder);
        };
        return std::any_of(state.allocations.begin(), state.allocations.end(), is_it) ||
               std::any_of(state.observers.begin(), state.observers.end(), is_it);
    };
    for (const GpuUser &user : all.users) {
        for (const LeaseKey &gpu : user.gpus) {
            if (!used.contains(gpu) && !is_entitled(user, gpu) && processes.find(user.process))
                used.emplace(gpu, "is used by " + quote(user.program) + " (pid " +
                                      std::to_string(user.process.pid) + ", user " + user.user +
                                      "), which has no lease of it");
        }
    }
    for (const auto &filled : all.filled) {
        if (std::none_of(state.allocations.begin(), state.allocations.end(),
                         [&](const Allocation &one) { return has_some_of(one, filled.first); }))
            used.insert(filled);
    }
    return used;
}

} // namespace ogh
