// SPDX-License-Identifier: Apache-2.0
#include "lease/container_cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "cgroup/cgroup_folder.h"
#include "kernel/folder_entries.h"
#include "kernel/mount_table.h"

namespace ogh {

namespace {

constexpr size_t max_processes = size_t{16} << 20U; ///< of cgroup.procs, in bytes
constexpr int max_depth = 64;

/** Those that runtimes put a container into; "" is version 2. */
constexpr std::array controllers = {"", "devices", "pids", "memory", "freezer", "cpu", "name=systemd"};

std::uint64_t inode_of(int folder)
{
    struct stat status {};
    if (::fstat(folder, &status) != 0)
        throw SystemError(errno, "cannot look at a cgroup", ErrorKind::BrokenHost);
    return status.st_ino;
}

/** A cgroup that is removed meanwhile has nobody in it any more. */
bool is_removed(int error_number)
{
    return error_number == ENOENT || error_number == ENODEV;
}

void add_processes(int folder, std::vector<pid_t> &found)
{
    const UniqueFd file(::openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC));
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

void add_all_below(int folder, std::vector<pid_t> &found, int depth)
{
    if (depth > max_depth)
        throw Error(ErrorKind::BrokenHost, "the cgroups of a container are nested too deep");
    add_processes(folder, found);
    const auto is_name = [](std::string_view name) { return name != "." && name != ".."; };
    for (const FolderEntry &entry : list_folder(folder, {"a cgroup", is_name, 0, ErrorKind::BrokenHost})) {
        if (entry.type != DT_DIR)
            continue;
        const UniqueFd below(
            ::openat(folder, entry.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (below.valid())
            add_all_below(below.get(), found, depth + 1);
        else if (!is_removed(errno))
            throw SystemError(errno, "cannot open a cgroup", ErrorKind::BrokenHost);
    }
}

} // namespace

std::optional<OwnCgroup> find_own_cgroup(const Processes &processes, const std::string &init,
                                         const std::string &cgroups_path, bool with_inode)
{
    const std::string runtime = processes.read_own("cgroup");
    std::optional<MountTable> mounts; // read where it is needed: that takes longest
    for (const char *controller : controllers) {
        const auto theirs = cgroup_of(init, controller);
        const auto ours = cgroup_of(runtime, controller);
        if (!theirs || !ours)
            continue;
        const auto own = container_cgroups(*theirs, *ours, cgroups_path);
        if (own.empty())
            continue;
        if (!with_inode)
            return OwnCgroup{controller, own.front(), 0};
        if (!mounts)
            mounts.emplace(processes.open_own("mountinfo").get());
        const CgroupFolder found = open_cgroup(*mounts, controller, own.front());
        if (found.fd.valid())
            return OwnCgroup{controller, own.front(), inode_of(found.fd.get())};
    }
    return std::nullopt;
}

std::vector<pid_t> processes_in(const Processes &processes, const OwnCgroup &cgroup)
{
    const MountTable mounts(processes.open_own("mountinfo").get());
    const CgroupFolder found = open_cgroup(mounts, cgroup.controller, cgroup.path);
    if (!found.is_shown)
        throw Error(ErrorKind::BrokenHost,
                    "no mount of this host shows the cgroup " + quote(cgroup.path) +
                        " of a container that has a GPU, so that it cannot be told whether it has ended");
    std::vector<pid_t> pids;
    if (found.fd.valid() && (cgroup.inode == 0 || inode_of(found.fd.get()) == cgroup.inode))
        add_all_below(found.fd.get(), pids, 0);
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
    const MountTable mounts(processes.open_own("mountinfo").get());
    const CgroupFolder found = open_cgroup(mounts, freezer ? "freezer" : "", *path);
    const UniqueFd file(
        ::openat(found.fd.get(), freezer ? "freezer.state" : "cgroup.events", O_RDONLY | O_CLOEXEC));
    const std::string text = file.valid() ? read_all(file.get(), most, "the state of a cgroup") : "";
    return text.find(freezer ? "FROZEN" : "frozen 1") != std::string::npos;
} catch (const Error &) {
    return false;
}

} // namespace ogh
