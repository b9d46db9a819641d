// SPDX-License-Identifier: Apache-2.0
#include "lease/presence/eviction.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <functional>
#include <optional>
#include <utility>

#include "base/duration.h"
#include "base/error.h"
#include "base/text.h"
#include "cgroup/device_cgroups.h"
#include "kernel/directory_entries.h"
#include "kernel/mount_table.h"
#include "kernel/pidfd.h"
#include "lease/presence/container_cgroup.h"
#include "lease/presence/gpu_users.h"
#include "lease/presence/presence.h"
#include "lease/presence/rest.h"
#include "lease/state/boot_clock.h"
#include "lease/state/lease_changes.h"
#include "systemd/manager_connection.h"
#include "systemd/scope_unit.h"

namespace ogh {

namespace {

constexpr int between_looks_ms = 100;

/** Much more than the end of some thousand processes takes; what holds one up longer is a call that no signal ends. */
constexpr std::int64_t end_limit_ns = 5'000'000'000;

/** The signal goes to just this process, or to none. */
void send(const UniqueFd &process, int signal, const Holder &holder)
{
    if (::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) != 0 && errno != ESRCH)
        throw SystemError(errno, "cannot end the container " + quote(holder.container),
                          ErrorKind::BrokenHost);
}

/** With a pid namespace of its own it ends with its init; else each of its processes is to be ended. */
void kill_all(const Processes &processes, const Holder &holder)
{
    const std::int64_t limit = boottime_ns() + end_limit_ns;
    while (const auto process = find_container(processes, holder)) {
        const std::int64_t left_ms = (limit - boottime_ns()) / 1'000'000;
        if (process->valid()) {
            send(*process, SIGKILL, holder);
            thaw(processes, holder); // now, so that it does nothing more
            if (!has_ended(process->get(), between_looks_ms))
                thaw_all(processes, holder); // its init ends last
        } else {
            ::usleep(1000); // it is on its way out of the cgroup
        }
        if (left_ms <= 0)
            throw Error(ErrorKind::BrokenHost,
                        "the container " + quote(holder.container) + " does not end (pid " +
                            std::to_string(holder.init.pid) +
                            (is_frozen(processes, holder.init.pid) ? ", paused)" : ")"));
    }
}

/** @return whether it is still idle, or has ended meanwhile. */
bool is_still_idle(const Processes &processes, const Holder &holder, const UniqueFd &init,
                   UniqueFd &busy_with)
{
    if (has_ended(init.get(), between_looks_ms))
        return true;
    auto another = find_company(processes, holder);
    if (another)
        busy_with = std::move(*another);
    return !another;
}

/** Of an init that only waits. More take too long to look at, with the lock held. */
constexpr size_t most_open_files = 1024;

/** So many are shown; those of older ones are forgotten. */
constexpr size_t most_deprived = 1000;

Error keeps(const std::string &what)
{
    return {ErrorKind::Failure, "its first program has " + what + ", by which it could keep a device"};
}

/** What an open file, or a mapped one, says of itself; nothing if it is closed by now. */
std::optional<struct statx> status_of(const UniqueFd &directory, const std::string &name)
{
    // What is known already is enough: a filesystem may never answer, and the lock is held.
    constexpr int no_filesystem = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
    struct statx status {};
    if (::statx(directory.get(), name.c_str(), no_filesystem, STATX_TYPE, &status) == 0)
        return status;
    if (errno == ENOENT)
        return std::nullopt;
    throw SystemError(errno, "cannot look at an open file of a container", ErrorKind::BrokenHost);
}

/**
 * Null, zero, random, and terminals (devices.txt of the kernel). All else may be a driver's, and one that its GPUs have in
 * common, as /dev/kfd, keeps what it was given of them.
 */
bool is_harmless(const struct statx &node)
{
    const unsigned number = node.stx_rdev_major;
    return S_ISCHR(node.stx_mode) && (number == 1 || number == 5 || (number >= 136 && number <= 143));
}

void check_files(const UniqueFd &directory, const DeviceRules &rules)
{
    if (!directory.valid())
        throw SystemError(errno, "cannot look at the open files of a container", ErrorKind::BrokenHost);
    for (const DirectoryEntry &entry :
         list_directory(directory.get(), {"open files", {}, most_open_files, ErrorKind::BrokenHost})) {
        const auto status = status_of(directory, entry.name);
        if (!status)
            continue;
        const bool is_node = S_ISCHR(status->stx_mode) || S_ISBLK(status->stx_mode);
        const auto is_it = [&](const DeviceRule &rule) {
            return rule.major == status->stx_rdev_major && rule.minor == status->stx_rdev_minor;
        };
        if (is_node && (!is_harmless(*status) || std::any_of(rules.begin(), rules.end(), is_it)))
            throw keeps("a device open");
        // A descriptor may be under way in a socket, or be registered with an io_uring: a file of no type.
        if (S_ISSOCK(status->stx_mode) || (status->stx_mode & S_IFMT) == 0)
            throw keeps("a socket or the like");
    }
}

/**
 * Whether KFD may have a GPU for it: until it ends, whatever it closes, and by an open of /dev/kfd that nobody refuses
 * (kfd_process.c of the kernel, which lists such processes by their pids on the host).
 */
bool is_known_to_kfd(const Processes &processes, pid_t pid)
{
    const std::string listed = "/sys/class/kfd/kfd/proc/";
    // Elsewhere its number is another one there, and nobody knows which.
    return ::access((listed + (why_unknown(processes).empty() ? std::to_string(pid) : "")).c_str(), F_OK) ==
           0;
}

/** Becomes another text whenever the process runs. */
std::string activity_of(const Processes &processes, pid_t pid)
{
    const auto used = processor_time_of(pid);
    // Its status has how often it was switched to and from: the time is not counted everywhere as it passes.
    return processes.read(pid, "status").value_or("") + (used ? std::to_string(*used) : "");
}

bool is_at_rest(const Processes &processes, pid_t pid)
{
    return sleeps_lightly(processes.read(pid, "stat").value_or("")) &&
           waits_for_no_file(processes.read(pid, "syscall").value_or(""));
}

/**
 * What is open stays so when the rules go, but no more can be opened then. The name of an init that only waits may be the
 * image's own program's.
 */
void check_init(const Processes &processes, pid_t pid, const DeviceRules &rules)
{
    constexpr int tries = 5;
    if (has_executed_nothing(processes.read(pid, "stat").value_or("")))
        return; // it is the runtime
    const std::string process = std::to_string(pid);
    for (int left = tries; left > 0; --left) {
        const std::string before = activity_of(processes, pid);
        if (!is_at_rest(processes, pid)) { // before what may wait for its memory
            ::usleep(1000);                // it may be about to
            continue;
        }
        const UniqueFd tasks = processes.open_directory(process + "/task");
        if (!tasks.valid() ||
            list_directory(tasks.get(), {"threads", {}, most_open_files, ErrorKind::BrokenHost}).size() != 1)
            throw keeps("threads");
        check_files(processes.open_directory(process + "/fd"), rules);
        check_files(processes.open_directory(process + "/map_files"), rules);
        if (is_known_to_kfd(processes, pid))
            throw keeps("a GPU of KFD's");
        // Whoever runs meanwhile may have moved a descriptor from behind the look to before it.
        if (activity_of(processes, pid) == before)
            return;
    }
    throw keeps("no rest, or a system call under way");
}

/** The device cgroups of a container whose init lives. */
class Rules final {
public:
    /** @throws Error if the init has ended, or its cgroups are not found */
    Rules(const Processes &processes, const Holder &holder)
        : cgroups_(ProcFs(), MountTable(processes.open_own("mountinfo").get()), holder.init.pid,
                   holder.cgroup.value().path)
    {
        if (!processes.find(holder.init)) // what was read may be another one's
            throw Error(ErrorKind::Failure, "it has ended");
        if (!cgroups_.begin_at(holder.cgroup->path)) // then others of its processes are not below
            throw Error(ErrorKind::Failure, "its first program has moved to another cgroup");
        if (!cgroups_.scopes().empty()) {
            Notes notes;
            systemd_ = ManagerConnection::open(notes);
        }
    }

    /** systemd first: what it says is in effect again at its next reload. */
    void deny(const DeviceRules &rules)
    {
        if (systemd_)
            deny_in_scope(*systemd_, cgroups_.scopes(), rules);
        cgroups_.deny(rules);
    }

    void allow(const DeviceRules &rules)
    {
        UndoLog undo;
        cgroups_.allow(rules, undo);
        undo.drop();
        if (systemd_)
            allow_in_scope(*systemd_, cgroups_.scopes(), rules);
    }

private:
    DeviceCgroups cgroups_;
    std::optional<ManagerConnection> systemd_;
};

/** @throws Error if it cannot be done; then it may be half done */
bool take_away(const Processes &processes, const Allocation &allocation)
{
    const Holder &holder = allocation.holder;
    const DeviceRules &rules = allocation.rules.value();
    if (find_company(processes, holder))
        return false;
    Rules cgroups(processes, holder);
    cgroups.deny(rules);
    // Whoever has come by now may have opened a device before, and may have given it to init; whoever comes later cannot.
    if (!find_company(processes, holder)) {
        check_init(processes, holder.init.pid, rules);
        return true;
    }
    cgroups.allow(rules);
    return false;
}

void put_back(const Processes &processes, const Allocation &allocation)
try {
    Rules(processes, allocation.holder).allow(allocation.rules.value());
} catch (const Error &) {
    return; // it has ended, or nothing could be changed before either
}

Revocation finish(const Processes &processes, Allocation &allocation)
{
    Revocation done{allocation.holder, {}, false, allocation.has_begun, allocation.idle_ns};
    if (!processes.find(allocation.holder.init))
        return done; // the entry goes with it
    try {
        done.is_taken = take_away(processes, allocation);
    } catch (const Error &error) {
        put_back(processes, allocation);
        allocation.rules.reset();
        done.text = "the devices of the container " + quote(allocation.holder.container) +
                    " cannot be taken away: " + error.what();
    }
    if (!done.is_taken && done.text.empty())
        allocation.idle_ns = 0; // a process had come
    return done;
}

/** Puts back what those have left who have ended, and has `finish_own` see to what this process takes. */
void for_each_left(const Processes &processes, LeaseState &state,
                   const std::function<void(Allocation &)> &finish_own)
{
    std::optional<ProcessId> own;
    for (Allocation &allocation : state.allocations) {
        if (!allocation.taker)
            continue;
        if (!own)
            own = processes.own_id();
        if (*allocation.taker == *own)
            finish_own(allocation);
        else if (!processes.find(*allocation.taker))
            put_back(processes, allocation);
        else
            continue;
        allocation.taker.reset();
    }
}

void move_to_deprived(LeaseState &state, const ProcessId &init)
{
    std::erase_if(state.deprived,
                  [](const Allocation &each) { return !Processes::is_taken(each.holder.init.pid); });
    if (state.deprived.size() >= most_deprived)
        state.deprived.erase(state.deprived.begin());
    Allocation &moved = state.deprived.emplace_back(*find_allocation(state.allocations, init));
    moved.taker.reset();
    moved.limit.reset();
    moved.requests.clear();
    remove_holder(state, init);
}

} // namespace

Eviction evict(const Processes &processes, const PreemptStep &step)
{
    const Holder &holder = step.holder;
    Eviction result;
    const auto init = processes.find(holder.init);
    if (step.signal) {
        // The first process of a pid namespace gets only what it has a handler for, or takes by signalfd: the kernel
        // sees to it, pid_namespaces(7).
        if (init)
            send(*init, *step.signal, holder);
        return result;
    }
    if (!init && step.why != PreemptReason::HeldTooLong)
        return {true, {}};
    const bool was_idle = step.why == PreemptReason::Idle || step.why == PreemptReason::NotBegun;
    if (was_idle && !is_still_idle(processes, holder, *init, result.busy_with))
        return result;
    if (step.why == PreemptReason::NeverStarted &&
        !has_executed_nothing(processes.read(holder.init.pid, "stat").value_or("")))
        return result;
    kill_all(processes, holder);
    return {true, {}};
}

std::vector<Revocation> finish_revocations(const Processes &processes, LeaseState &state)
{
    std::vector<Revocation> all;
    const auto finish_own = [&](Allocation &allocation) { all.push_back(finish(processes, allocation)); };
    for_each_left(processes, state, finish_own);
    for (const Revocation &each : all)
        if (each.is_taken)
            move_to_deprived(state, each.holder.init);
    return all;
}

void undo_revocations(const Processes &processes, LeaseState &state)
{
    for_each_left(processes, state, [&](Allocation &allocation) { put_back(processes, allocation); });
}

std::vector<std::string> find_late(const Processes &processes, LeaseState &state)
{
    std::vector<std::string> found;
    for (Allocation &each : state.deprived) {
        if (each.has_begun || !processes.find(each.holder.init))
            continue;
        static_cast<void>(look_at(processes, each, {}, boottime_ns()));
        if (each.has_begun)
            found.push_back(each.holder.container);
    }
    return found;
}

std::string idle_text(bool has_begun, std::int64_t idle_ns)
{
    return has_begun ? "idle since " + utc_text(unix_time_at(idle_ns)) : "not begun";
}

} // namespace ogh
