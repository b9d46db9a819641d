// SPDX-License-Identifier: Apache-2.0
#include "kernel/limited_child.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"
#include "kernel/end_signals.h"
#include "kernel/pidfd.h"

namespace ogh {

namespace {

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

} // namespace

unsigned long keeper_namespaces(const LimitedProgram &program)
{
    return program.box ? CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC : 0UL;
}

void keep_program(const LimitedProgram &program, const KeeperEnds &ends) noexcept
{
    end_after(ends, [&] { return keep(program, ends); });
}

} // namespace ogh
