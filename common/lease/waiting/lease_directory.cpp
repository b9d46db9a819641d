// SPDX-License-Identifier: Apache-2.0
#include "lease/waiting/lease_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/end_signals.h"
#include "kernel/user_namespace.h"

namespace ogh {

namespace {

/** Who may write it may exchange what is in it. */
bool is_written_by_its_owner_alone(const struct stat &status)
{
    return S_ISDIR(status.st_mode) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/**
 * A directory that this namespace's root owns. Those above it are its own as well, or of somebody who has no number here, as
 * the host's root: whoever that is can have it all anyway.
 * @param names from the root on
 */
std::optional<UniqueFd> find_own_directory(const Sysroot &sysroot, const std::vector<std::string> &names)
{
    const auto root = sysroot.find("/");
    if (!root)
        return std::nullopt;
    UniqueFd fd;
    struct stat status {};
    for (const std::string &name : names) {
        const int parent = fd.valid() ? fd.get() : root->fd.get();
        UniqueFd next(::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!next.valid() || ::fstat(next.get(), &status) != 0 || !is_written_by_its_owner_alone(status))
            return std::nullopt;
        fd = std::move(next);
    }
    return status.st_uid == 0 ? std::optional(std::move(fd)) : std::nullopt;
}

/** "1000": who this namespace's root is outside of it. */
std::string outer_root()
{
    const auto root = own_uids().root();
    return root ? std::to_string(*root) : "";
}

using Clock = std::chrono::steady_clock; // stands still while the host sleeps, as whoever has the lock does

/** How many looks at who has the lock there are, until patience is at its end. */
constexpr int looks = 10;

/** A lock of the other kind (POSIX), of all of the file, by which the kernel tells who has it. */
struct flock naming_lock()
{
    struct flock lock {};
    lock.l_type = F_WRLCK;
    return lock;
}

/**
 * @return false: another one has it, or a signal has come. Where the name cannot be left for those who wait, or is lost by
 *         the close() of another descriptor of the file, the lock is the same.
 */
bool has_locked(int fd, int how, const std::string &name)
{
    if (::flock(fd, how) == 0) {
        struct flock own_name = naming_lock();
        ::fcntl(fd, F_SETLK, &own_name);
        return true;
    }
    if (errno == EWOULDBLOCK || errno == EINTR)
        return false;
    throw SystemError(errno, "cannot lock " + name, ErrorKind::BrokenHost);
}

/**
 * Who has left its name by has_locked(). Not by /proc/locks, which any user can make so long that reading it takes a minute.
 * @return nothing if nobody has; 0: a process that this pid namespace does not show
 */
std::optional<pid_t> find_lock_holder(int fd)
{
    struct flock found = naming_lock();
    if (::fcntl(fd, F_GETLK, &found) != 0 || found.l_type == F_UNLCK)
        return std::nullopt;
    return std::max(found.l_pid, 0);
}

/** "the process 17 ('python3', stopped)" */
std::string name_of_process(pid_t pid, const Processes &processes)
{
    if (pid == 0)
        return "a process that /proc does not show, as of another pid namespace";
    const std::string stat = processes.read(pid, "stat").value_or("");
    const size_t start = stat.find('(');
    const size_t end = stat.rfind(')'); // the name may have any of its own
    std::string text = "the process " + std::to_string(pid);
    if (start == std::string::npos || end == std::string::npos || end + 2 >= stat.size())
        return text;
    const char state = stat[end + 2];
    return text + " (" + quote(stat.substr(start + 1, end - start - 1)) +
           (state == 'T' || state == 't' ? ", stopped)" : ")");
}

Error stands_still(const std::string &name, std::optional<pid_t> holder, const Processes &processes,
                   std::chrono::milliseconds patience)
{
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(patience).count();
    return {ErrorKind::BrokenHost,
            name + " has been locked for " + std::to_string(seconds) + " s by " +
                (holder ? name_of_process(*holder, processes)
                        : "a process that has not said which one it is ('lslocks' shows it)") +
                ", which holds up all hooks: let it go on, or end it"};
}

constexpr const char *lock_name = "lock";

constexpr mode_t private_mode = 0600;

struct stat status_of(int fd, const std::string &what)
{
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        throw SystemError(errno, "cannot look at " + what, ErrorKind::BrokenHost);
    return status;
}

/** Whoever may write a directory on the way may put another one in its place. The host's root owns it, whoever asks. */
void check_directory(int fd, const std::string &what)
{
    const struct stat status = status_of(fd, what);
    if (status.st_uid != 0)
        throw Error(ErrorKind::BrokenHost, what + " does not belong to root");
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return;
    struct statvfs filesystem {};
    const bool is_read_only = ::fstatvfs(fd, &filesystem) == 0 && (filesystem.f_flag & ST_RDONLY) != 0;
    throw Error(ErrorKind::BrokenHost, what + (is_read_only ? " is on a read-only filesystem"
                                                            : " may be written by others than root"));
}

/** Nothing if it is missing. */
std::optional<UniqueFd> open_directory(int parent, const std::string &name, const std::string &what)
{
    UniqueFd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid() && errno == ENOENT)
        return std::nullopt;
    if (!fd.valid())
        throw SystemError(errno, "cannot open " + what, ErrorKind::BrokenHost);
    check_directory(fd.get(), what);
    return fd;
}

std::optional<UniqueFd> open_or_make_directory(int parent, const std::string &name, const std::string &what)
{
    if (auto found = open_directory(parent, name, what))
        return found;
    // Another hook may be making it at this moment.
    if (::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST)
        throw SystemError(errno, "cannot make " + what, ErrorKind::BrokenHost);
    if (auto made = open_directory(parent, name, what))
        return made;
    throw Error(ErrorKind::BrokenHost, what + " has gone the moment it was made");
}

UniqueFd root_of(const Sysroot &sysroot)
{
    auto root = sysroot.find("/");
    if (!root)
        throw Error(ErrorKind::BrokenHost, "the host's root cannot be found");
    return std::move(root->fd);
}

/** Without SA_RESTART that it is called is all it takes. */
extern "C" void end_the_call(int /*number*/) {}

/**
 * While it exists a system call in which this process waits ends with EINTR, again and again, so that it can be given
 * up. By SIGURG, which is ignored otherwise: one that comes late does nothing. One at a time, of a process with one thread.
 */
class RepeatedInterrupt final {
public:
    /** @param interval more than 0. @throws SystemError */
    explicit RepeatedInterrupt(std::chrono::nanoseconds interval)
    {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(interval);
        const timespec each{seconds.count(), (interval - seconds).count()};
        const itimerspec value{each, each};
        struct sigaction action {};
        action.sa_handler = end_the_call;
        ::sigaction(SIGURG, &action, &before_); // fails for no signal that there is
        sigevent event{};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGURG;
        if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0 &&
            ::timer_settime(timer_, 0, &value, nullptr) == 0)
            return;
        const int why = errno;
        ::sigaction(SIGURG, &before_, nullptr); // the timer, if there is one, goes with the process
        throw SystemError(why, "cannot set a timer (timer_create, timer_settime)");
    }
    RepeatedInterrupt(const RepeatedInterrupt &) = delete;
    RepeatedInterrupt &operator=(const RepeatedInterrupt &) = delete;
    ~RepeatedInterrupt()
    {
        ::timer_delete(timer_);
        ::sigaction(SIGURG, &before_, nullptr);
    }

private:
    timer_t timer_{};
    struct sigaction before_ {};
};

} // namespace

std::string why_no_lease_place()
{
    if (in_initial_user_namespace())
        return "only root can take one";
    const std::string uid = outer_root();
    return "this is a user namespace, whose root has neither /run of its own nor '/run/user/" + uid +
           "', which 'loginctl enable-linger' makes for user " + uid;
}

void lock_file(int fd, const std::string &name, const Processes &processes, const Patience &patience)
{
    if (has_locked(fd, LOCK_EX | LOCK_NB, name))
        return;
    // By a signal and not by asking again and again: the kernel wakes whoever waits at once, and nobody else.
    const RepeatedInterrupt interrupt(patience.limit / looks);
    std::optional<pid_t> holder = find_lock_holder(fd);
    Clock::time_point since = Clock::now();
    while (!has_locked(fd, LOCK_EX, name)) {
        const std::optional<pid_t> now = find_lock_holder(fd);
        if (now != holder) {
            holder = now;
            since = Clock::now();
        } else if (Clock::now() - since >= patience.limit) {
            throw stands_still(name, holder, processes, patience.limit);
        }
        if (patience.is_ended_by_signals)
            check_end_signals("waiting for another process that has locked " + name);
    }
}

bool LeaseDirectory::is_possible(const Sysroot &sysroot)
{
    return ::geteuid() == 0 && (in_initial_user_namespace() || find_above(sysroot));
}

/**
 * The directory that it is in, as it is; without a descriptor if there is none. In a user namespace, as with the engine of a
 * user, or in a system container of LXD's: `/run` where that root owns it, or else `/run/user/UID` of the user who is that
 * root outside, as /proc/self/uid_map has it; nothing of it by a symlink, and nothing if there is none.
 */
std::optional<LeaseDirectory> LeaseDirectory::find_above(const Sysroot &sysroot)
{
    LeaseDirectory run;
    run.on_host_ = sysroot.on_host("/run");
    if (in_initial_user_namespace()) {
        if (auto fd = open_directory(root_of(sysroot).get(), "run", "the directory " + quote(run.on_host_)))
            run.fd_ = std::move(*fd);
        return run;
    }
    auto fd = find_own_directory(sysroot, {"run"});
    run.scope_ = "the containers of this user namespace's root";
    if (const std::string uid = fd ? "" : outer_root(); !uid.empty()) {
        fd = find_own_directory(sysroot, {"run", "user", uid});
        run.on_host_ = sysroot.on_host("/run/user/" + uid);
        run.scope_ = "the containers of user " + uid;
    }
    if (!fd)
        return std::nullopt;
    run.fd_ = std::move(*fd);
    return run;
}

LeaseDirectory LeaseDirectory::above(const Sysroot &sysroot)
{
    if (auto found = find_above(sysroot))
        return std::move(*found);
    throw Error(ErrorKind::BrokenHost, "there is no directory for leases: " + why_no_lease_place());
}

std::optional<LeaseDirectory> LeaseDirectory::place(const Sysroot &sysroot)
{
    return ::geteuid() == 0 ? find_above(sysroot) : std::nullopt;
}

LeaseDirectory::LeaseDirectory(const Sysroot &sysroot) : LeaseDirectory(above(sysroot))
{
    complete(sysroot);
}

std::optional<LeaseDirectory> LeaseDirectory::open(const Sysroot &sysroot)
{
    auto directory = place(sysroot);
    if (directory)
        directory->complete(sysroot);
    return directory;
}

void LeaseDirectory::complete(const Sysroot &sysroot)
{
    if (!fd_.valid())
        fd_ = *open_or_make_directory(root_of(sysroot).get(), "run", "the directory " + quote(on_host_));
    descend(true);
}

LeaseDirectory LeaseDirectory::make() &&
{
    if (!fd_.valid())
        throw Error(ErrorKind::BrokenHost, "there is no directory " + quote(on_host_));
    descend(true);
    return std::move(*this);
}

bool LeaseDirectory::descend(bool makes)
{
    for (const char *const name : {"oci-gpu-hooks", "leases"}) {
        on_host_ += std::string("/") + name;
        const std::string what = "the directory " + quote(on_host_);
        auto next =
            makes ? open_or_make_directory(fd_.get(), name, what) : open_directory(fd_.get(), name, what);
        if (!next)
            return false;
        fd_ = std::move(*next);
    }
    return true;
}

std::optional<LeaseDirectory> LeaseDirectory::find(const Sysroot &sysroot)
{
    LeaseDirectory directory = above(sysroot);
    if (!directory.fd_.valid() || !directory.descend(false))
        return std::nullopt;
    return directory;
}

std::string LeaseDirectory::named(const char *file) const
{
    return "the file " + quote(on_host_ + "/" + file);
}

UniqueFd LeaseDirectory::open_private(const char *file, int flags) const
{
    const int create = (flags & O_ACCMODE) == O_RDONLY ? 0 : O_CREAT;
    UniqueFd fd(
        ::openat(fd_.get(), file, flags | create | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, private_mode));
    if (!fd.valid())
        throw SystemError(errno, "cannot open " + named(file), ErrorKind::BrokenHost);
    check_root_file(fd.get(), private_mode, named(file));
    return fd;
}

UniqueFd LeaseDirectory::lock(const Processes &processes, const Patience &patience) const
{
    constexpr int max_tries = 16;
    for (int tries = 0; tries < max_tries; ++tries) {
        // Whoever can open it can lock it, and root would wait for them.
        UniqueFd fd = open_private(lock_name, O_RDWR);
        lock_file(fd.get(), named(lock_name), processes, patience);
        // If somebody has removed it meanwhile, the next one locks another file.
        struct stat there {};
        const struct stat ours = status_of(fd.get(), named(lock_name));
        if (::fstatat(fd_.get(), lock_name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
            there.st_dev == ours.st_dev && there.st_ino == ours.st_ino)
            return fd;
    }
    throw Error(ErrorKind::BrokenHost, named(lock_name) + " is removed again and again");
}

std::string LeaseDirectory::lock_keeper(const Processes &processes) const
{
    const UniqueFd fd(::openat(fd_.get(), lock_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.valid())
        return "";
    constexpr timespec pause{0, 50'000'000};
    const std::optional<pid_t> holder = find_lock_holder(fd.get());
    for (int look = 0; holder && look < looks; ++look) {
        ::nanosleep(&pause, nullptr);
        if (find_lock_holder(fd.get()) != holder)
            return "";
    }
    return holder ? name_of_process(*holder, processes) : "";
}

std::string LeaseDirectory::read(const LeaseDocument &document, size_t limit) const
{
    const std::string name = named(document.name);
    const UniqueFd fd(::openat(fd_.get(), document.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.valid() && errno == ENOENT)
        return {};
    if (!fd.valid())
        throw SystemError(errno, "cannot open " + name, ErrorKind::BrokenHost);
    const struct stat status = status_of(fd.get(), name);
    if (!S_ISREG(status.st_mode) || status.st_uid != 0 || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        throw Error(ErrorKind::BrokenHost, name + " is no plain file that only root may write; '" +
                                               how_to_clear() + "' clears it while no container has a GPU");
    if (status.st_size == 0)
        throw Error(ErrorKind::BrokenHost,
                    name + " is empty; '" + how_to_clear() + "' clears it while no container has a GPU");
    try {
        return read_all(fd.get(), limit, name, static_cast<size_t>(status.st_size));
    } catch (const Error &error) {
        throw error.as(ErrorKind::BrokenHost);
    }
}

void LeaseDirectory::remove(const char *file) const
{
    if (::unlinkat(fd_.get(), file, 0) != 0 && errno != ENOENT)
        throw SystemError(errno, "cannot remove " + named(file), ErrorKind::BrokenHost);
}

UniqueFd LeaseDirectory::make_new(const LeaseDocument &document) const
{
    const std::string name = named(document.new_name);
    const auto make = [&] {
        return UniqueFd(::openat(fd_.get(), document.new_name,
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, document.mode));
    };
    UniqueFd fd = make();
    if (!fd.valid() && errno == EEXIST) {
        // What a process left that was killed. Whoever holds the lock may remove it.
        remove(document.new_name);
        fd = make();
    }
    if (!fd.valid())
        throw SystemError(errno, "cannot make " + name, ErrorKind::BrokenHost);
    if (::fchmod(fd.get(), document.mode) != 0)
        throw SystemError(errno, "cannot set the mode of " + name, ErrorKind::BrokenHost);
    return fd;
}

void LeaseDirectory::write(const LeaseDocument &document, std::string_view text) const
{
    try {
        write_all(make_new(document).get(), text, named(document.new_name));
    } catch (const SystemError &error) {
        ::unlinkat(fd_.get(), document.new_name, 0);
        throw error.as(ErrorKind::BrokenHost);
    }
    if (::renameat(fd_.get(), document.new_name, fd_.get(), document.name) != 0) {
        const int why = errno;
        ::unlinkat(fd_.get(), document.new_name, 0);
        throw SystemError(why, "cannot replace " + named(document.name), ErrorKind::BrokenHost);
    }
}

} // namespace ogh
