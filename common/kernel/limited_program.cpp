// SPDX-License-Identifier: Apache-2.0
#include "kernel/limited_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/error.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "kernel/limited_child.h"
#include "kernel/pidfd.h"

namespace ogh {

namespace {

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
        const unsigned long flags = keeper_namespaces(program) | CLONE_PIDFD | SIGCHLD;
        int end = -1;
        pid_ = static_cast<pid_t>(::syscall(SYS_clone, flags, nullptr, &end, nullptr, nullptr));
        if (pid_ < 0)
            throw SystemError(errno, "cannot start " + program.what + " in namespaces of its own (clone)",
                              ErrorKind::BrokenHost);
        if (pid_ == 0)
            keep_program(program, {self.get(), answer, report});
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

} // namespace ogh
