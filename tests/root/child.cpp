// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ostream>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/exit_status.h"
#include "base/file.h"
#include "base/unique_fd.h"

namespace ogh::test {

namespace {

constexpr int unexpected = 125;
constexpr size_t max_text = size_t{1} << 20U;

/** Boost.Test's handlers would jump back into the test run, which is the parent's. */
void forget_signal_handlers()
{
    for (const int number : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV})
        ::signal(number, SIG_DFL);
}

void write_all(int fd, const std::string &text)
{
    for (size_t done = 0; done < text.size();) {
        const ssize_t written = ::write(fd, text.data() + done, text.size() - done);
        if (written < 0)
            ::_exit(unexpected);
        done += static_cast<size_t>(written);
    }
}

} // namespace

std::ostream &operator<<(std::ostream &out, const Outcome &outcome)
{
    return out << outcome.code << " '" << outcome.text << "'";
}

int exit_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void fail(const std::string &what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

Child::Child(const std::function<void()> &work) : pid_(::fork())
{
    check_call(pid_, "fork");
    if (pid_ > 0)
        return;
    forget_signal_handlers();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    try {
        work();
    } catch (...) {
        ::_exit(unexpected);
    }
    ::_exit(0);
}

Child::Child(Child &&other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

Child::~Child()
{
    if (pid_ < 0)
        return;
    kill();
    wait();
}

int Child::wait() noexcept
{
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR)
        continue;
    pid_ = -1;
    return exit_code(status);
}

void Child::kill() const
{
    ::kill(pid_, SIGKILL);
}

void report(const Work &work)
{
    forget_signal_handlers();
    Outcome outcome;
    try {
        outcome.text = work();
    } catch (const Error &error) {
        outcome = {static_cast<int>(exit_status(error.kind())), error.what()};
    } catch (const std::exception &error) {
        outcome = {unexpected, error.what()};
    }
    write_all(STDOUT_FILENO, outcome.text);
    ::_exit(outcome.code);
}

int run_program(std::vector<std::string> command)
{
    std::vector<char *> arguments;
    arguments.reserve(command.size() + 1);
    for (std::string &word : command)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    return Child([&] {
               const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
               ::dup2(nowhere, STDOUT_FILENO);
               ::dup2(nowhere, STDERR_FILENO);
               ::execvp(arguments.front(), arguments.data());
               fail(command.front());
           })
        .wait();
}

Outcome in_child(const Work &work)
{
    std::array<int, 2> ends{};
    check_call(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
    const UniqueFd from(ends[0]);
    UniqueFd to(ends[1]);
    Child child([&] {
        check_call(::dup2(to.get(), STDOUT_FILENO), "dup2");
        report(work);
    });
    to.reset();
    const std::string text = read_all(from.get(), max_text, "what a child says");
    return {child.wait(), text};
}

} // namespace ogh::test
