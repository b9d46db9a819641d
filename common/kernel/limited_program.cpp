// SPDX-License-Identifier: Apache-2.0
#include "kernel/limited_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/capability.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace ogh {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int cannot_start = 127; // as a shell has it
constexpr rlim_t max_open_files = 1024;
constexpr std::chrono::seconds end_limit{1}; // for a process that was killed
constexpr size_t shown_answer = 512;

// In the child. It has been forked, and its parent has no threads, so that any function may be called.

bool limit_resources(const LimitedProgram &program)
{
    const auto limit = [](auto what, rlim_t value) {
        rlimit both{};
        if (::getrlimit(what, &both) != 0)
            return false;
        both.rlim_cur = both.rlim_max = std::min(both.rlim_max, value);
        return ::setrlimit(what, &both) == 0;
    };
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(program.time_limit).count();
    return limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_NOFILE, max_open_files) &&
           limit(RLIMIT_CPU, static_cast<rlim_t>(seconds));
}

/** Without a way to gain any an executable of root's gives none either. */
bool drop_all_capabilities()
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
    return ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
           ::syscall(SYS_capset, &header, none.data()) == 0 && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/** The copies are above all that they are copied to. */
bool place_descriptors(const LimitedProgram &program, int answer, int &executable)
{
    constexpr int first_free = limited_program_file + 1;
    executable = ::fcntl(program.executable, F_DUPFD_CLOEXEC, first_free);
    const int file = ::fcntl(program.file, F_DUPFD_CLOEXEC, first_free);
    const int writing = ::fcntl(answer, F_DUPFD_CLOEXEC, first_free);
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (executable < 0 || file < 0 || writing < 0 || null < 0)
        return false;
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (null != fd && ::dup2(null, fd) < 0)
            return false;
    }
    if (::dup2(writing, limited_program_answer) < 0 || ::dup2(file, limited_program_file) < 0)
        return false;
    // 5 and above: what the library opens by itself are its own.
    return ::syscall(SYS_close_range, first_free, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
}

[[noreturn]] void become(const LimitedProgram &program, int answer, pid_t parent)
{
    std::vector<char *> words;
    for (const std::string &word : program.words)
        words.push_back(const_cast<char *>(word.c_str())); // execve(2) does not write to them
    words.push_back(nullptr);
    char *environment = nullptr;
    int executable = -1;
    ::setpgid(0, 0);
    ::signal(SIGPIPE, SIG_DFL);
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && ::getppid() == parent &&
        place_descriptors(program, answer, executable) && limit_resources(program) && drop_all_capabilities())
        ::syscall(SYS_execveat, executable, "", words.data(), &environment, AT_EMPTY_PATH);
    ::_exit(cannot_start);
}

// In the parent.

/** The child, which is gone with all that it has started when this is. */
class Child final {
public:
    Child(const LimitedProgram &program, int answer) : parent_(::getpid()), pid_(::fork())
    {
        if (pid_ < 0)
            throw SystemError(errno, "cannot start " + program.what + " (fork)", ExitCode::Host);
        if (pid_ == 0)
            become(program, answer, parent_);
        ::setpgid(pid_, pid_); // whoever of the two comes first
        end_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    }

    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;
    ~Child() { static_cast<void>(finish()); }

    /** Readable when it has ended. */
    [[nodiscard]] int end() const { return end_.get(); }

    /** Ends it. @return its status as waitpid(2) has it; nothing if no signal ends it */
    std::optional<int> finish() noexcept
    {
        if (pid_ <= 0)
            return status_;
        ::kill(-pid_, SIGKILL); // what it has started, too; one that has ended by itself keeps its status
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
    pid_t parent_;
    pid_t pid_;
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

Heard hear(const LimitedProgram &program, int fd, const Child &child)
{
    Heard heard;
    const auto until = Clock::now() + program.time_limit;
    bool has_ended = false;
    while (!has_ended) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        std::array<pollfd, 2> events{{{fd, POLLIN, 0}, {child.end(), POLLIN, 0}}};
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

std::string problem_of(int status)
{
    if (WIFSIGNALED(status))
        return "it was ended by signal " + std::to_string(WTERMSIG(status));
    if (!WIFEXITED(status))
        return "it did not end";
    if (WEXITSTATUS(status) == cannot_start)
        return "it cannot be started";
    return WEXITSTATUS(status) == 0 ? "" : "it ended with status " + std::to_string(WEXITSTATUS(status));
}

} // namespace

std::string run_limited(const LimitedProgram &program)
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw SystemError(errno, "cannot make a pipe for " + program.what, ExitCode::Host);
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    if (::fcntl(reading.get(), F_SETFL, O_NONBLOCK) != 0)
        throw SystemError(errno, "cannot read from a pipe without waiting", ExitCode::Host);
    Child child(program, writing.get());
    writing = UniqueFd();
    if (child.end() < 0)
        throw SystemError(errno, "cannot watch " + program.what + " (pidfd_open)", ExitCode::Host);
    Heard heard = hear(program, reading.get(), child);
    const auto status = child.finish();
    if (heard.problem.empty())
        heard.problem = status ? problem_of(*status) : "it does not end";
    if (!heard.problem.empty())
        throw Error(
            ExitCode::Host,
            program.what + " fails: " + heard.problem +
                (heard.answer.empty() ? "" : ", and says " + quote(heard.answer.substr(0, shown_answer))));
    return heard.answer;
}

} // namespace ogh
