// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/nvml/limited_program.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "kernel/end_signals.h"
#include "kernel/inode.h"
#include "kernel/mount_tree.h"
#include "kernel/pidfd.h"
#include "kernel/tmpfs.h"

namespace ogh::nvidia_devices {

namespace {

/** Nobody, and their group: the kernel's own numbers for what is not mapped. user_namespaces(7) */
constexpr uid_t nobody_uid = 65534;
constexpr gid_t nobody_gid = 65534;

// The other side of run_limited(): the processes that it starts. There are two. The keeper is the first process of the PID
// namespace, so that all others end with it; it stays root, and shuts the program in. The other one becomes the program.

/** Descriptors that the keeper has of its parent. */
struct KeeperEnds {
    int parent = -1; ///< a pidfd of it
    int answer = -1; ///< to write to
    int report = -1; ///< to write to: why the program was not started or shut in, or what signal ended it
};

/** What the keeper ends with if it has written a report. */
constexpr int limited_program_reported = 127;

constexpr unsigned box_attributes =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

void check_box(bool done, const std::string &what)
{
    if (!done)
        throw SystemError(errno, "cannot make a root without the host's files (" + what + ")",
                          ErrorKind::BrokenHost);
}

/** A new one, and no copy of what is mounted: over that others may have mounted anything. */
UniqueFd make_filesystem(const char *type)
{
    const std::string name(type);
    const UniqueFd context(::fsopen(type, FSOPEN_CLOEXEC));
    check_box(context.valid(), "fsopen " + name);
    // Of processes that are another user's nothing is there: 2, before Linux 5.8 had the word for it.
    if (name == "proc")
        check_box(::fsconfig(context.get(), FSCONFIG_SET_STRING, "hidepid", "2", 0) == 0, "hidepid");
    check_box(::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0, "a new " + name);
    UniqueFd root(::fsmount(context.get(), FSMOUNT_CLOEXEC, box_attributes));
    check_box(root.valid(), "fsmount " + name);
    return root;
}

std::string path_in_box(const std::string &path)
{
    return quote("/" + path);
}

std::vector<MountTree> copies_of(const std::vector<BoxEntry> &entries)
{
    std::vector<MountTree> copies;
    copies.reserve(entries.size());
    for (const BoxEntry &entry : entries)
        copies.emplace_back(
            entry.source,
            MountAttributes{
                .read_only = true, .has_nodes = true, .recursive = false, .further = MOUNT_ATTR_NOEXEC},
            path_in_box(entry.path));
    return copies;
}

/**
 * A root for a program that is to see nothing of the host: /proc of its own PID namespace, /sys, and what it is given, all
 * read-only. Device nodes can be written to, as they cannot be protected by a mount.
 */
class ProgramBox final {
public:
    /**
     * Puts it together where only this process sees it: in a private copy of its mount namespace, and over its /proc. What
     * /proc and /sys show is of the PID and the network namespace of this process.
     * @throws SystemError
     */
    explicit ProgramBox(const std::vector<BoxEntry> &entries) : copies_(copies_of(entries)), root_("")
    {
        add(MountTree(make_filesystem("proc")), "proc");
        add(MountTree(make_filesystem("sysfs")), "sys");
        for (size_t i = 0; i < entries.size(); ++i)
            add(copies_[i], entries[i].path);
        mount_attr attr{};
        attr.attr_set = box_attributes;
        check_box(::mount_setattr(root_.fd(), "", AT_EMPTY_PATH, &attr, sizeof attr) == 0, "mount_setattr");
    }

    /**
     * Makes it the root and the working directory of all processes that are in this mount namespace and had the host's.
     * The host's files are not mounted there any more: what is open or mapped stays so.
     * @throws SystemError
     */
    void close() const
    {
        check_box(::fchdir(root_.fd()) == 0, "fchdir");
        // Both names are the working directory, and so that what was the root lies over it: pivot_root(2).
        check_box(::syscall(SYS_pivot_root, ".", ".") == 0, "pivot_root");
        check_box(::umount2(".", MNT_DETACH) == 0, "umount");
    }

private:
    void make_directories(const std::string &path) const
    {
        for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
            check_box(::mkdirat(root_.fd(), path.substr(0, slash).c_str(), 0755) == 0 || errno == EEXIST,
                      "mkdir");
    }

    void add(const MountTree &tree, const std::string &path) const
    {
        make_directories(path);
        const bool is_directory = Inode::of(tree.fd(), path).is(Kind::Directory);
        const UniqueFd place = root_.make(path, is_directory ? Kind::Directory : Kind::File);
        tree.attach(place.get(), path_in_box(path));
    }

    std::vector<MountTree> copies_; ///< of the entries, made before this process leaves their mount namespace
    PrivateTmpfs root_;
};

constexpr rlim_t max_open_files = 1024;

void check_limited(bool done, const char *what)
{
    if (!done)
        throw SystemError(errno, std::string("it cannot be started (") + what + ")", ErrorKind::BrokenHost);
}

void limit_resources(const LimitedProgram &program)
{
    const auto limit = [](auto what, rlim_t value) {
        rlimit both{};
        check_limited(::getrlimit(what, &both) == 0, "getrlimit");
        both.rlim_cur = both.rlim_max = std::min(both.rlim_max, value);
        check_limited(::setrlimit(what, &both) == 0, "setrlimit");
    };
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(program.time_limit).count();
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, max_open_files);
    limit(RLIMIT_CPU, static_cast<rlim_t>(seconds));
}

/** Others of nobody's on the host are no friends: that is what a PID namespace and a program that is not dumpable are for. */
void become_nobody()
{
    ::capng_setpid(0);
    ::capng_clear(CAPNG_SELECT_ALL);
    const int result = ::capng_change_id(nobody_uid, nobody_gid, CAPNG_DROP_SUPP_GRP);
    if (result != 0 && errno == EINVAL)
        throw Error(ErrorKind::BrokenHost,
                    "it cannot be started: this user namespace has no user and no group " +
                        std::to_string(nobody_uid) + " (nobody), as whom it is to run");
    check_limited(result == 0, "capng_change_id");
}

/** Without a way to gain any an executable of root's gives none either. */
void drop_all_capabilities()
{
    ::capng_setpid(0);
    ::capng_clear(CAPNG_SELECT_ALL);
    constexpr auto all_but_bounds = static_cast<capng_select_t>(CAPNG_SELECT_CAPS | CAPNG_SELECT_AMBIENT);
    check_limited(::capng_apply(all_but_bounds) == 0, "capng_apply");
    check_limited(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "prctl");
}

/** The copies are above all that they are copied to. @return a descriptor of the executable */
int place_descriptors(const LimitedProgram &program, int answer, int gate)
{
    constexpr int first_free = limited_program_gate + 1;
    const auto copy = [](int fd) {
        const int made = ::fcntl(fd, F_DUPFD_CLOEXEC, first_free);
        check_limited(made >= 0, "fcntl");
        return made;
    };
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    check_limited(null >= 0, "open '/dev/null'");
    const int executable = copy(program.executable);
    const std::array<int, limited_program_gate + 1> all{copy(null),   copy(null),         copy(null),
                                                        copy(answer), copy(program.file), copy(gate)};
    for (size_t fd = 0; fd < all.size(); ++fd)
        check_limited(::dup2(all[fd], static_cast<int>(fd)) >= 0, "dup2");
    // 6 and above: what the library opens by itself are its own.
    check_limited(::syscall(SYS_close_range, first_free, ~0U, CLOSE_RANGE_CLOEXEC) == 0, "close_range");
    return executable;
}

/** This process ends when that one does, which is not yet so. */
void end_with(int parent)
{
    pollfd ended{parent, POLLIN, 0};
    check_limited(::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0, "prctl");
    if (::poll(&ended, 1, 0) != 0)
        ::_exit(limited_program_reported);
}

[[noreturn]] void become(const LimitedProgram &program, int answer, int gate)
{
    std::vector<char *> words;
    for (const std::string &word : program.words)
        words.push_back(const_cast<char *>(word.c_str())); // execve(2) does not write to them
    words.push_back(nullptr);
    char *environment = nullptr;
    for (const int ignored : {SIGPIPE, SIGXFSZ})
        ::signal(ignored, SIG_DFL);
    check_limited(unblock_signals(), "sigprocmask");
    const int executable = place_descriptors(program, answer, gate);
    limit_resources(program);
    if (program.box)
        become_nobody();
    drop_all_capabilities();
    ::syscall(SYS_execveat, executable, "", words.data(), &environment, AT_EMPTY_PATH);
    throw SystemError(errno, "it cannot be started", ErrorKind::BrokenHost);
}

void report(const KeeperEnds &ends, std::string_view text)
{
    // Where nobody reads it any more, nobody misses it.
    [[maybe_unused]] const ssize_t written = ::write(ends.report, text.data(), text.size());
}

/** Runs `work`, which may throw, to the end of this process. */
template<typename Work> [[noreturn]] void end_after(const KeeperEnds &ends, const Work &work) noexcept
{
    try {
        ::_exit(work());
    } catch (const std::exception &error) {
        report(ends, error.what());
    }
    ::_exit(limited_program_reported);
}

/** Both ends of limited_program_gate. */
struct Gate {
    UniqueFd keeper;
    UniqueFd program;
};

Gate make_gate()
{
    std::array<int, 2> ends{};
    check_limited(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "socketpair");
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

pid_t start(const LimitedProgram &program, const KeeperEnds &ends, const Gate &gate)
{
    const UniqueFd keeper = open_pidfd(::getpid()).value();
    const pid_t pid = ::fork();
    check_limited(pid >= 0, "fork");
    if (pid == 0)
        end_after(ends, [&]() -> int {
            end_with(keeper.get());
            become(program, ends.answer, gate.program.get());
        });
    return pid;
}

/** The program, as its keeper sees it. */
class KeptProgram final {
public:
    KeptProgram(const LimitedProgram &program, const KeeperEnds &ends)
        : gate_(make_gate()), pid_(start(program, ends, gate_)), end_(open_pidfd(pid_).value())
    {
        gate_.program.reset();
    }

    /** Waits. @return whether it can be shut in; else it has ended */
    [[nodiscard]] bool is_ready() const
    {
        std::array<pollfd, 2> events{{{gate_.keeper.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}}};
        char byte = 0;
        while (::poll(events.data(), events.size(), -1) < 0)
            check_limited(errno == EINTR, "poll");
        return (events[0].revents & POLLIN) != 0 && ::read(gate_.keeper.get(), &byte, 1) == 1;
    }

    void go_on() const { check_limited(::send(gate_.keeper.get(), "\n", 1, MSG_NOSIGNAL) == 1, "send"); }

    /** @return its status, as waitpid(2) has it */
    [[nodiscard]] int wait() const
    {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0)
            check_limited(errno == EINTR, "waitpid");
        return status;
    }

private:
    Gate gate_;
    pid_t pid_;
    UniqueFd end_;
};

/**
 * Starts the program, shuts it in, and waits for it. It is called in a process that has been forked, and whose parent has
 * no threads, so that any function may be called.
 * @return its status
 */
int keep(const LimitedProgram &program, const KeeperEnds &ends)
{
    ::setpgid(0, 0);
    end_with(ends.parent);
    // A working directory elsewhere would stay the host's.
    check_limited(::chdir("/") == 0, "chdir");
    std::optional<ProgramBox> box;
    if (program.box)
        box.emplace(*program.box);
    const KeptProgram kept(program, ends);
    ::close(ends.answer); // the program alone has it, so that its end is seen
    if (kept.is_ready()) {
        if (box)
            box->close();
        drop_all_capabilities();
        kept.go_on();
    }
    const int status = kept.wait();
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    report(ends, "it was ended by signal " + std::to_string(WTERMSIG(status)));
    return limited_program_reported;
}

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds end_limit{1}; // for a process that was killed
constexpr size_t shown_answer = 512;
constexpr size_t max_report = 4096;

/** A pipe that is read from without waiting. */
struct Pipe {
    UniqueFd reading;
    UniqueFd writing;

    explicit Pipe(const std::string &what)
    {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0)
            throw SystemError(errno, "cannot make a pipe for " + what, ErrorKind::BrokenHost);
        reading = UniqueFd(ends[0]);
        writing = UniqueFd(ends[1]);
        if (::fcntl(reading.get(), F_SETFL, O_NONBLOCK) != 0)
            throw SystemError(errno, "cannot read from a pipe without waiting", ErrorKind::BrokenHost);
    }
};

/** The keeper, which is gone with all that it has started when this is. */
class Keeper final {
public:
    Keeper(const LimitedProgram &program, int answer, int report)
    {
        const UniqueFd self = open_pidfd(::getpid()).value();
        // clone(2); the namespace of mounts it makes itself.
        const unsigned long namespaces = program.box ? CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC : 0UL;
        const unsigned long flags = namespaces | CLONE_PIDFD | SIGCHLD;
        int end = -1;
        pid_ = static_cast<pid_t>(::syscall(SYS_clone, flags, nullptr, &end, nullptr, nullptr));
        if (pid_ < 0)
            throw SystemError(errno, "cannot start " + program.what + " in namespaces of its own (clone)",
                              ErrorKind::BrokenHost);
        const KeeperEnds ends{self.get(), answer, report};
        if (pid_ == 0)
            end_after(ends, [&] { return keep(program, ends); });
        ::setpgid(pid_, pid_); // whoever of the two comes first
        end_ = UniqueFd(end);
    }

    Keeper(const Keeper &) = delete;
    Keeper &operator=(const Keeper &) = delete;
    ~Keeper() { static_cast<void>(finish()); }

    /** Readable when it has ended. */
    [[nodiscard]] int end() const { return end_.get(); }

    /** Ends it. @return its status as waitpid(2) has it; nothing if no signal ends it */
    std::optional<int> finish() noexcept
    {
        if (pid_ <= 0)
            return status_;
        // What has been started, too; one that has ended by itself keeps its status. Where there is a PID namespace the
        // keeper's end is that of all who are in it.
        ::kill(-pid_, SIGKILL);
        pollfd ended{end_.get(), POLLIN, 0};
        const auto until = Clock::now() + end_limit;
        while (Clock::now() < until && ::poll(&ended, 1, static_cast<int>(end_limit.count()) * 1000) < 0)
            continue;
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) == pid_)
            status_ = status;
        pid_ = -1;
        return status_;
    }

private:
    pid_t pid_ = -1;
    UniqueFd end_;
    std::optional<int> status_;
};

struct Heard {
    std::string answer;
    std::string problem; ///< "" if it ended by itself
};

/** @return whether there may be more */
bool hear_more(int fd, std::string &answer)
{
    std::array<char, 4096> part{};
    const ssize_t count = ::read(fd, part.data(), part.size());
    if (count > 0)
        answer.append(part.data(), static_cast<size_t>(count));
    return count > 0 || (count < 0 && errno == EINTR);
}

Heard hear(const LimitedProgram &program, int fd, const Keeper &keeper)
{
    Heard heard;
    const auto until = Clock::now() + program.time_limit;
    bool has_ended = false;
    while (!has_ended) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        std::array<pollfd, 2> events{{{fd, POLLIN, 0}, {keeper.end(), POLLIN, 0}}};
        const int ready = left > 0 ? ::poll(events.data(), events.size(), static_cast<int>(left)) : 0;
        if (ready == 0) {
            heard.problem =
                "it did not answer within " +
                std::to_string(std::chrono::ceil<std::chrono::seconds>(program.time_limit).count()) + " s";
            return heard;
        }
        // The end first: what was written before it is there then.
        has_ended = ready > 0 && events[1].revents != 0;
        while (hear_more(fd, heard.answer)) {
            if (heard.answer.size() > program.max_answer) {
                heard.problem = "it says more than " + std::to_string(program.max_answer) + " bytes";
                return heard;
            }
        }
        if (!has_ended && ready > 0 && (events[0].revents & POLLHUP) != 0)
            fd = -1; // which poll(2) passes over; only its end is left
    }
    return heard;
}

std::string problem_of(int status, int report)
{
    std::string reported;
    while (reported.size() < max_report && hear_more(report, reported))
        continue;
    if (!reported.empty())
        return reported;
    if (WIFSIGNALED(status))
        return "it was ended by signal " + std::to_string(WTERMSIG(status));
    if (!WIFEXITED(status))
        return "it did not end";
    return WEXITSTATUS(status) == 0 ? "" : "it ended with status " + std::to_string(WEXITSTATUS(status));
}

} // namespace

std::string run_limited(const LimitedProgram &program)
{
    Pipe answer(program.what);
    Pipe report(program.what);
    Keeper keeper(program, answer.writing.get(), report.writing.get());
    answer.writing = UniqueFd();
    report.writing = UniqueFd();
    Heard heard = hear(program, answer.reading.get(), keeper);
    const auto status = keeper.finish();
    if (heard.problem.empty())
        heard.problem = status ? problem_of(*status, report.reading.get()) : "it does not end";
    if (heard.problem.empty())
        return heard.answer;
    std::string said = heard.answer.substr(0, shown_answer);
    if (said.ends_with('\n'))
        said.pop_back();
    throw Error(ErrorKind::BrokenHost, program.what + " fails: " + heard.problem +
                                           (said.empty() ? "" : ", and says " + quote(said)));
}

} // namespace ogh::nvidia_devices
