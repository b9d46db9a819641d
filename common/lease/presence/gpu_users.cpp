// SPDX-License-Identifier: Apache-2.0
#include "lease/presence/gpu_users.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/kcmp.h>
#include <linux/nsfs.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <memory>
#include <string_view>

#include "base/letters.h"
#include "base/number.h"
#include "base/text.h"
#include "cgroup/cgroup_directory.h"

namespace ogh {

namespace {

/** Of the line of /proc/PID/status, which escapes what would end it. */
std::string value_in(std::string_view status, std::string_view label)
{
    const size_t start = status.find(label);
    if (start == std::string_view::npos)
        return "";
    status.remove_prefix(start + label.size());
    return std::string(status.substr(0, status.find_first_of("\t\n")));
}

/** Who has started it, whatever rights its program has. @return nothing if it has ended */
std::optional<uid_t> real_user_of(const Processes &processes, pid_t pid)
{
    const auto status = processes.read(pid, "status");
    return status ? parse_small_number(value_in(*status, "\nUid:\t"), UINT_MAX) : std::nullopt;
}

struct CloseListing {
    void operator()(DIR *listing) const { ::closedir(listing); }
};
using Listing = std::unique_ptr<DIR, CloseListing>;

/** Takes the descriptor. */
Listing listing_of(UniqueFd directory)
{
    Listing listing(directory.valid() ? ::fdopendir(directory.get()) : nullptr);
    if (listing != nullptr)
        static_cast<void>(directory.release());
    return listing;
}

/**
 * The next name that is a number; nullptr: there is none, or the process has ended. One after the other, and not
 * list_directory(): whoever has a million descriptors is left alone before they are all read.
 */
const char *next_number(DIR *listing)
{
    while (const dirent *const entry = ::readdir(listing)) {
        if (is_digit(entry->d_name[0]))
            return entry->d_name;
    }
    return nullptr;
}

/** Of this thread: the answer must not depend on what else runs. */
std::chrono::nanoseconds processor_time()
{
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/** A descriptor of a thread's. */
struct Descriptor {
    pid_t thread = 0;
    int number = 0;
};

/** kcmp(2): 0: the same; 1 and 2: in the order of a sort; -1: one has gone, or it may not be asked. */
long compare(int type, const Descriptor &one, const Descriptor &other)
{
    return ::syscall(SYS_kcmp, one.thread, other.thread, type, one.number, other.number);
}

/** Open files, each once: several descriptors can be of one, by dup(2) and fork(2), and the kernel counts it once. */
class OpenFiles final {
public:
    void add(const Descriptor &descriptor)
    {
        std::size_t first = 0;
        std::size_t end = sorted_.size();
        while (first < end) {
            const std::size_t middle = (first + end) / 2;
            const long order = compare(KCMP_FILE, sorted_[middle], descriptor);
            if (order < 0)
                is_known_ = is_known_ && errno != ENOSYS && errno != EPERM;
            if (order != 1 && order != 2)
                return;
            (order == 1 ? first : end) = order == 1 ? middle + 1 : middle;
        }
        sorted_.insert(sorted_.begin() + static_cast<std::ptrdiff_t>(first), descriptor);
    }

    /** How many there are at least. @return nothing if it cannot be told */
    [[nodiscard]] std::optional<std::size_t> count() const
    {
        return is_known_ ? std::optional(sorted_.size()) : std::nullopt;
    }

private:
    std::vector<Descriptor> sorted_;
    bool is_known_ = true;
};

using Identity = std::vector<std::uint64_t>;

/** Device and inode, as the kernel has them: no filesystem is asked. Empty if it is not there. */
Identity file_identity(int directory, const std::string &path)
{
    struct statx status {};
    const int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
    if (::statx(directory, path.c_str(), flags, STATX_INO, &status) != 0)
        return {};
    return {status.stx_dev_major, status.stx_dev_minor, status.stx_ino};
}

UniqueFd open_file(int directory, const std::string &path)
{
    return UniqueFd(::openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC));
}

/**
 * What is known of the outermost namespaces of a kind, those that are children of this process's own, and so of each in them:
 * who nests them is not walked through again for each process.
 */
class OutermostNamespaces final {
public:
    /** @param name in /proc/PID/ns */
    OutermostNamespaces(int proc, const std::string &name) : proc_(proc), name_("/ns/" + name)
    {
        own_ = file_identity(proc, "self" + name_);
        known_.emplace(own_, "");
    }

    /** @param tell gets the outermost one. @return what it said; "" for this process's own, and for none that can be seen */
    template<typename Tell> std::string of(const std::string &process, const Tell &tell)
    {
        const auto known = known_.find(file_identity(proc_, process + name_));
        return known != known_.end() ? known->second : of(open_file(proc_, process + name_), tell);
    }

    /** The same of one that is open. */
    template<typename Tell> std::string of(UniqueFd space, const Tell &tell)
    {
        std::vector<Identity> way;
        std::string told;
        while (space.valid()) {
            way.push_back(file_identity(space.get(), ""));
            if (const auto known = known_.find(way.back()); known != known_.end()) {
                told = known->second;
                break;
            }
            UniqueFd parent(::ioctl(space.get(), NS_GET_PARENT));
            if (parent.valid() && file_identity(parent.get(), "") == own_) {
                told = tell(space.get());
                break;
            }
            space = std::move(parent);
        }
        for (Identity &each : way)
            known_.emplace(std::move(each), told);
        return told;
    }

private:
    int proc_; ///< outlives this
    std::string name_;
    Identity own_;
    std::map<Identity, std::string> known_;
};

/** Tells whose processes there are, of those who can have as many as they like. */
class Parties final {
public:
    explicit Parties(int proc) : pids_(proc, "pid"), users_(proc, "user") {}

    static std::string of_user(uid_t user) { return user == 0 ? "" : "user " + std::to_string(user); }

    /**
     * In words: the user whose user namespace it is in, whatever users that has; a container that root has made, whatever
     * users and namespaces there are in it; its user. "" if it is root's of the host.
     */
    [[nodiscard]] std::string of(const std::string &process, uid_t user)
    {
        std::string party = pids_.of(process, [&](int container) {
            const std::string owner = users_.of(UniqueFd(::ioctl(container, NS_GET_USERNS)), owner_of);
            return owner.empty() ? "pid namespace " + std::to_string(file_identity(container, "").back())
                                 : owner;
        });
        if (party.empty())
            party = users_.of(process, owner_of);
        return party.empty() ? of_user(user) : party;
    }

private:
    static std::string owner_of(int users)
    {
        uid_t owner = 0;
        return ::ioctl(users, NS_GET_OWNER_UID, &owner) == 0 ? of_user(owner) : "";
    }

    OutermostNamespaces pids_;
    OutermostNamespaces users_;
};

using DeviceNumber = std::pair<unsigned, unsigned>;

/** What is known already is enough. */
constexpr int no_filesystem = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;

class NodeScan final {
public:
    NodeScan(const Processes &processes, const DriverNodes &nodes, std::chrono::nanoseconds most)
        : processes_(processes), nodes_(nodes), deadline_(processor_time() + most)
    {
    }

    GpuUsers find(const Monitors &monitors)
    {
        const Listing all = listing_of(processes_.open_directory("."));
        if (all == nullptr)
            return GpuUsers::not_known("/proc cannot be read");
        Parties parties(::dirfd(all.get()));
        GpuUsers found;
        while (const char *const number = is_late_ ? nullptr : next_number(all.get())) {
            const auto pid = parse_small_number(number, INT_MAX);
            auto user = pid ? look_at(::dirfd(all.get()), parties, static_cast<pid_t>(*pid)) : std::nullopt;
            if (user && !monitors.has(processes_, user->process.pid))
                found.users.push_back(std::move(*user));
        }
        if (is_late_)
            found.unknown = "there are too many open files to look at all of them in time";
        else if (is_forbidden_)
            found.unknown = "there are processes that this one may not look at";
        return found;
    }

    [[nodiscard]] const OpenFiles &files() const { return files_; }

    /** Of whom not all was looked at; the host's root is never one. */
    [[nodiscard]] const std::set<std::string> &passed_over() const { return passed_over_; }

private:
    std::optional<GpuUser> look_at(int proc, Parties &parties, pid_t pid)
    {
        const std::string name = std::to_string(pid);
        struct statx status {};
        // The effective user, whether it may be traced or not: task_dump_owner() of the kernel.
        if (::statx(proc, name.c_str(), AT_STATX_DONT_SYNC, STATX_UID, &status) != 0)
            return std::nullopt;
        party_ = parties.of(name, status.stx_uid);
        of_process_ = 0;
        if (!goes_on())
            return std::nullopt;
        const Listing tasks = listing_of(processes_.open_directory(name + "/task"));
        std::set<LeaseKey> gpus;
        pid_t seen = 0; // the thread whose descriptors were looked at last
        while (const char *const number = tasks && charge(pid) ? next_number(tasks.get()) : nullptr) {
            const auto thread = static_cast<pid_t>(parse_small_number(number, INT_MAX).value_or(0));
            if (seen != 0 && compare(KCMP_FILES, {seen, 0}, {thread, 0}) == 0)
                continue;
            seen = thread;
            if (const Listing open = open_descriptors(name + "/task/" + number + "/fd"))
                look_through(pid, thread, open.get(), gpus);
        }
        if (gpus.empty())
            return std::nullopt;
        auto user = user_of(processes_, pid, std::move(gpus));
        // The directory is that of the process that was looked at: as long as it has its first thread, the pid is nobody
        // else's. A descriptor would not tell: it may be closed, and the GPU open by others.
        return file_identity(::dirfd(tasks.get()), name).empty() ? std::nullopt : std::move(user);
    }

    Listing open_descriptors(const std::string &path)
    {
        errno = 0;
        Listing open = listing_of(processes_.open_directory(path));
        if (open == nullptr)
            see_whether_forbidden();
        return open;
    }

    /** By errno. A directory that may be opened does not tell: its links have a check of their own. ptrace(2) */
    void see_whether_forbidden() { is_forbidden_ = is_forbidden_ || errno == EACCES || errno == EPERM; }

    /** @param gpus those that are open are added */
    void look_through(pid_t pid, pid_t thread, DIR *open, std::set<LeaseKey> &gpus)
    {
        while (const char *const name = charge(pid) ? next_number(open) : nullptr) {
            const auto number = number_of(::dirfd(open), name);
            if (!number || !nodes_.majors.contains(number->first) || nodes_.foreign.contains(*number) ||
                !can_be_used(::dirfd(open), name))
                continue;
            files_.add({thread, static_cast<int>(parse_small_number(name, INT_MAX).value_or(0))});
            if (const auto gpu = nodes_.gpus.find(*number); gpu != nodes_.gpus.end())
                gpus.insert(gpu->second);
        }
    }

    /** Of a character device. */
    std::optional<DeviceNumber> number_of(int directory, const char *descriptor)
    {
        struct statx status {};
        if (::statx(directory, descriptor, no_filesystem, STATX_TYPE, &status) != 0) {
            // A user's FUSE tells nobody else what a file is, but has no devices that can be opened. Its link can be read.
            char any = 0;
            if (::readlinkat(directory, descriptor, &any, sizeof any) < 0)
                see_whether_forbidden();
            return std::nullopt;
        }
        if (!S_ISCHR(status.stx_mode))
            return std::nullopt;
        return DeviceNumber{status.stx_rdev_major, status.stx_rdev_minor};
    }

    /** What is opened with O_PATH alone can neither be read nor written. */
    static bool can_be_used(int directory, const char *descriptor)
    {
        constexpr unsigned read_or_write = S_IRUSR | S_IWUSR;
        struct statx status {};
        return ::statx(directory, descriptor, no_filesystem | AT_SYMLINK_NOFOLLOW, STATX_MODE, &status) ==
                   0 &&
               (status.stx_mode & read_or_write) != 0;
    }

    [[nodiscard]] bool goes_on() const { return !is_late_ && !passed_over_.contains(party_); }

    /** Counts one more descriptor, or thread. @return whether it is to be looked at */
    bool charge(pid_t pid)
    {
        constexpr unsigned now_and_then = 32;
        constexpr std::size_t with_files = 4; // a thread of the kernel has none, and is root's
        if (++looked_at_ % now_and_then == 0)
            is_late_ = processor_time() >= deadline_;
        if (++of_process_ == with_files && party_.empty()) // a program that has root's rights is its caller's
            party_ = Parties::of_user(real_user_of(processes_, pid).value_or(0));
        if (!party_.empty() && ++of_parties_[party_] > most_of_a_party)
            passed_over_.insert(party_);
        return goes_on();
    }

    const Processes &processes_;
    const DriverNodes &nodes_;
    std::chrono::nanoseconds deadline_; ///< of processor_time()
    OpenFiles files_;
    std::map<std::string, std::size_t> of_parties_; ///< descriptors that were looked at
    std::set<std::string> passed_over_;
    std::string party_;          ///< of the process that is looked at
    std::size_t of_process_ = 0; ///< descriptors of it
    unsigned looked_at_ = 0;
    bool is_late_ = false;
    bool is_forbidden_ = false;
};

void add_hidden(GpuUsers &found, const DriverNodes &nodes, const std::set<std::string> &passed_over)
{
    const std::string who = passed_over.empty()
                                ? "may be used by somebody who cannot be seen: more files of its driver are "
                                  "open than processes have"
                                : "may be used by " + *passed_over.begin() +
                                      ", which has more files and processes than are looked at";
    for (const auto &[number, gpu] : nodes.gpus)
        found.filled.emplace(gpu, who);
}

/** PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h, the same on every host. */
constexpr std::uint64_t first_pid_namespace = 0xEFFFFFFC;

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

GpuUsers find_node_users(const Processes &processes, const DriverNodes &nodes, const Monitors &monitors,
                         std::chrono::nanoseconds most)
{
    if (std::string why = why_unknown(processes); !why.empty())
        return GpuUsers::not_known(std::move(why));
    for (bool again = true;; again = false) {
        const auto before = nodes.count_open();
        if (before == 0U)
            return {};
        NodeScan scan(processes, nodes, most);
        GpuUsers found = scan.find(monitors);
        const auto after = nodes.count_open();
        const auto seen = scan.files().count();
        const bool is_counted = before && after && seen;
        if (is_counted && *seen >= std::max(*before, *after)) {
            found.unknown.clear();
            return found;
        }
        if (!found.unknown.empty())
            return GpuUsers::not_known(std::move(found.unknown));
        // Somebody may have closed a file in front of the scan, or opened one behind its back.
        if (is_counted && again && scan.passed_over().empty())
            continue;
        if (is_counted || !scan.passed_over().empty())
            add_hidden(found, nodes, scan.passed_over());
        return found;
    }
}

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
