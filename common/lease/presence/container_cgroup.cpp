// SPDX-License-Identifier: Apache-2.0
#include "lease/presence/container_cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "cgroup/cgroup_directory.h"
#include "kernel/directory_entries.h"
#include "kernel/mount_table.h"
#include "kernel/pidfd.h"

namespace ogh {

namespace {

constexpr size_t max_processes = size_t{16} << 20U; ///< of cgroup.procs, in bytes
/** How deep, and at how many cgroups, it is looked for processes: a container that may write its cgroup can make any number. */
constexpr int max_depth = 64;
constexpr int max_cgroups = 4096;
constexpr int max_looks = 5;
/** Of which one may be the one that does not count. */
constexpr size_t enough_processes = 2;

/** Those that runtimes put a container into; "" is version 2. */
constexpr std::array controllers = {"", "devices", "pids", "memory", "freezer", "cpu", "name=systemd"};

std::uint64_t inode_of(int directory)
{
    struct stat status {};
    if (::fstat(directory, &status) != 0)
        throw SystemError(errno, "cannot look at a cgroup", ErrorKind::BrokenHost);
    return status.st_ino;
}

/** A cgroup that is removed meanwhile has nobody in it any more. */
bool is_removed(int error_number)
{
    return error_number == ENOENT || error_number == ENODEV;
}

void add_processes(int directory, std::vector<pid_t> &found)
{
    const UniqueFd file(::openat(directory, "cgroup.procs", O_RDONLY | O_CLOEXEC));
    if (!file.valid() && is_removed(errno))
        return;
    if (!file.valid())
        throw SystemError(errno, "cannot open a cgroup's list of processes", ErrorKind::BrokenHost);
    std::string text;
    try {
        text = read_all(file.get(), max_processes, "a cgroup's list of processes");
    } catch (const SystemError &error) {
        // EOPNOTSUPP: a threaded one; its processes are listed by the one above it.
        if (is_removed(error.error_number()) || error.error_number() == EOPNOTSUPP)
            return;
        throw;
    }
    for (const std::string &line : split_list(text, '\n')) {
        if (const auto pid = parse_small_number(line, 1U << 30U))
            found.push_back(static_cast<pid_t>(*pid));
    }
}

std::vector<std::string> names_below(int directory)
try {
    std::vector<std::string> names;
    for (DirectoryEntry &entry : list_directory(directory, {"a cgroup", {}, 0, ErrorKind::BrokenHost})) {
        if (entry.type == DT_DIR)
            names.push_back(std::move(entry.name));
    }
    return names;
} catch (const SystemError &error) {
    if (is_removed(error.error_number()))
        return {};
    throw;
}

/**
 * @param left how many cgroups may be looked into
 * @param is_missed set if one was not there any more: removed, or renamed, as a container can its own in version 1
 */
void add_some_below(int directory, std::vector<pid_t> &found, int depth, int &left, bool &is_missed)
{
    if (depth > max_depth || --left < 0)
        return found.push_back(unseen_process);
    add_processes(directory, found);
    if (found.size() >= enough_processes)
        return;
    for (const std::string &name : names_below(directory)) {
        const UniqueFd below(
            ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (below.valid())
            add_some_below(below.get(), found, depth + 1, left, is_missed);
        else if (is_removed(errno))
            is_missed = true;
        else
            throw SystemError(errno, "cannot open a cgroup", ErrorKind::BrokenHost);
        if (found.size() >= enough_processes)
            return;
    }
}

CgroupDirectory open_cgroup(const Processes &processes, const std::string &controller,
                            const std::string &path)
{
    return open_cgroup(MountTable(processes.open_own("mountinfo").get()), controller, path);
}

/** As container_cgroups() has them; none where the hierarchy does not exist. @param init its /proc/PID/cgroup */
std::vector<std::string> own_cgroups(const Processes &processes, std::string_view init,
                                     std::string_view controller, const std::string &cgroups_path)
{
    const auto theirs = cgroup_of(init, controller);
    const auto ours = cgroup_of(processes.read_own("cgroup"), controller);
    return theirs && ours ? container_cgroups(*theirs, *ours, cgroups_path) : std::vector<std::string>();
}

/** The cgroup whose CPU time is counted; in version 1 it is in a hierarchy of its own. */
std::optional<OwnCgroup> counted_cgroup(const Processes &processes, const Holder &holder)
{
    if (!holder.cgroup || holder.cgroup->controller.empty())
        return holder.cgroup;
    const auto own =
        own_cgroups(processes, processes.read(holder.init.pid, "cgroup").value_or(""), "cpuacct", "");
    return own.empty() ? std::nullopt : std::optional(OwnCgroup{"cpuacct", own.front()});
}

/** In ns. */
std::optional<std::uint64_t> cpu_used_in(int directory, bool is_version_2)
{
    constexpr size_t most = 4096;
    constexpr std::string_view label = "usage_usec ";
    const char *const name = is_version_2 ? "cpu.stat" : "cpuacct.usage";
    const UniqueFd file(::openat(directory, name, O_RDONLY | O_CLOEXEC));
    if (!file.valid())
        return std::nullopt;
    const std::string text = read_all(file.get(), most, name);
    const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
    if (!is_version_2)
        return parse_number(line);
    const auto used = line.starts_with(label) ? parse_number(line.substr(label.size())) : std::nullopt;
    return used ? std::optional(*used * 1000) : std::nullopt;
}

/** As far as that is possible. @return where it lies */
CgroupDirectory thaw_cgroup(const MountTable &mounts, const std::string &path)
{
    CgroupDirectory found = open_cgroup(mounts, "freezer", path);
    const UniqueFd file(::openat(found.fd.get(), "freezer.state", O_WRONLY | O_CLOEXEC));
    if (file.valid())
        write_all(file.get(), "THAWED", "the state of a cgroup");
    return found;
}

} // namespace

std::optional<OwnCgroup> find_own_cgroup(const Processes &processes, const std::string &init,
                                         const std::string &cgroups_path, bool with_inode)
{
    for (const char *controller : controllers) {
        const auto own = own_cgroups(processes, init, controller, cgroups_path);
        if (own.empty())
            continue;
        if (!with_inode)
            return OwnCgroup{controller, own.front(), 0};
        const CgroupDirectory found = open_cgroup(processes, controller, own.front());
        if (found.fd.valid())
            return OwnCgroup{controller, own.front(), inode_of(found.fd.get())};
    }
    return std::nullopt;
}

std::vector<pid_t> processes_in(const Processes &processes, const OwnCgroup &cgroup)
{
    const CgroupDirectory found = open_cgroup(processes, cgroup.controller, cgroup.path);
    if (!found.is_shown)
        throw Error(ErrorKind::BrokenHost,
                    "no mount of this host shows the cgroup " + quote(cgroup.path) +
                        " of a container that has a GPU, so that it cannot be told whether it has ended");
    std::vector<pid_t> pids;
    if (!found.fd.valid() || (cgroup.inode != 0 && inode_of(found.fd.get()) != cgroup.inode))
        return pids;
    // One that is renamed is not seen where it was, nor where it is; one that is removed is not there at the next look.
    bool is_missed = true;
    for (int looks = 0; is_missed && pids.size() < enough_processes && looks < max_looks; ++looks) {
        is_missed = false;
        pids.clear();
        int left = max_cgroups;
        add_some_below(found.fd.get(), pids, 0, left, is_missed);
    }
    if (is_missed)
        pids.push_back(unseen_process);
    return pids;
}

bool is_frozen(const Processes &processes, pid_t pid)
try {
    constexpr size_t most = 4096;
    const std::string cgroups = processes.read(pid, "cgroup").value_or("");
    const auto freezer = cgroup_of(cgroups, "freezer");
    const auto path = freezer ? freezer : cgroup_of(cgroups, "");
    if (!path)
        return false;
    const CgroupDirectory found = open_cgroup(processes, freezer ? "freezer" : "", *path);
    const UniqueFd file(
        ::openat(found.fd.get(), freezer ? "freezer.state" : "cgroup.events", O_RDONLY | O_CLOEXEC));
    const std::string text = file.valid() ? read_all(file.get(), most, "the state of a cgroup") : "";
    return text.find(freezer ? "FROZEN" : "frozen 1") != std::string::npos;
} catch (const Error &) {
    return false;
}

void thaw(const Processes &processes, const Holder &holder)
try {
    const auto init = processes.find(holder.init);
    const auto own = own_cgroups(processes, processes.read(holder.init.pid, "cgroup").value_or(""), "freezer",
                                 holder.cgroup ? holder.cgroup->path : "");
    if (!init || has_ended(init->get()))
        return;
    const MountTable mounts(
        processes.open_own("mountinfo").get()); // once: they may be thousands, and it as long
    for (const std::string &path : own)
        thaw_cgroup(mounts, path);
} catch (const Error &) {
    return; // so it does not end, which is an error itself
}

void thaw_all(const Processes &processes, const Holder &holder)
try {
    const auto space = processes.pid_namespace_of(std::to_string(holder.init.pid));
    if (!holder.own_pid_namespace || !holder.cgroup || !space)
        return;
    const CgroupDirectory found =
        thaw_cgroup(MountTable(processes.open_own("mountinfo").get()), holder.cgroup->path);
    const UniqueFd file(::openat(found.fd.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
    PidNamespace own(processes, *space);
    for (const pid_t pid : file.valid() ? processes.all() : std::vector<pid_t>()) {
        const std::string number = std::to_string(pid);
        if (own.has(pid) && ::write(file.get(), number.data(), number.size()) < 0)
            continue; // it has ended
    }
} catch (const Error &) {
    return; // so it does not end, which is an error itself
}

std::optional<std::uint64_t> cpu_of_others(const Processes &processes, const Holder &holder)
try {
    const auto cgroup = counted_cgroup(processes, holder);
    if (!cgroup)
        return std::nullopt;
    const CgroupDirectory found = open_cgroup(processes, cgroup->controller, cgroup->path);
    const auto by_all =
        found.fd.valid() ? cpu_used_in(found.fd.get(), cgroup->controller.empty()) : std::nullopt;
    const auto by_init =
        processor_time_of(holder.init.pid); // afterwards: what it uses meanwhile is nobody else's
    if (!by_init || !by_all)
        return std::nullopt;
    return *by_all - std::min(*by_all, *by_init);
} catch (const Error &) {
    return std::nullopt;
}

} // namespace ogh
