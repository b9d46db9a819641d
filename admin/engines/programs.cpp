// SPDX-License-Identifier: Apache-2.0
#include "engines/programs.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "host/root_alone.h"

namespace ogh::admin {

namespace {

constexpr std::array folders = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                "/usr/bin",        "/sbin",          "/bin"};
constexpr size_t max_output = size_t{1} << 20U;

struct Pipe {
    UniqueFd read_end;
    UniqueFd write_end;

    Pipe()
    {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0)
            throw SystemError(errno, "cannot make a pipe");
        read_end = UniqueFd(ends[0]);
        write_end = UniqueFd(ends[1]);
    }
};

/** In the child: the descriptors and signals that a program is started with. @return only if it cannot be run */
void become(const Program &program, const std::vector<char *> &argv, int out, int err)
{
    std::string path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    const std::array<char *, 2> environment{path.data(), nullptr};
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t none{}; // this process may have signals wait, and the program is not to inherit that
    ::sigemptyset(&none);
    if (null < 0 || ::dup2(null, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 ||
        ::dup2(err, STDERR_FILENO) < 0 || ::sigprocmask(SIG_SETMASK, &none, nullptr) != 0)
        return;
    ::syscall(SYS_execveat, program.fd.get(), "", argv.data(), environment.data(), AT_EMPTY_PATH);
}

pid_t spawn(const Program &program, const std::vector<std::string> &words, int out, int err)
{
    std::vector<std::string> copies(words);
    std::vector<char *> argv;
    argv.reserve(copies.size() + 1);
    for (std::string &word : copies)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    Pipe failure; // says why it cannot be run, and ends without a word if it can
    const pid_t pid = ::fork();
    if (pid < 0)
        throw SystemError(errno, "cannot run " + quote(program.path), ErrorKind::BrokenHost);
    if (pid == 0) {
        become(program, argv, out, err);
        const int error = errno;
        [[maybe_unused]] const ssize_t said = ::write(failure.write_end.get(), &error, sizeof(error));
        ::_exit(1);
    }
    failure.write_end.reset();
    int error = 0;
    if (::read(failure.read_end.get(), &error, sizeof(error)) != sizeof(error))
        return pid;
    ::waitpid(pid, nullptr, 0);
    throw SystemError(error, "cannot run " + quote(program.path), ErrorKind::BrokenHost);
}

/** @return whether there may be more */
bool take(int fd, std::string &text)
{
    std::array<char, 16384> buffer{};
    const ssize_t length = ::read(fd, buffer.data(), buffer.size());
    if (length <= 0)
        return length < 0 && errno == EINTR;
    text.append(buffer.data(), std::min(static_cast<size_t>(length), max_output - text.size()));
    return true;
}

/** Reads both to their ends. @return false if that took longer than until `deadline` */
bool read_both(std::array<pollfd, 2> ends, ProgramOutput &output,
               std::chrono::steady_clock::time_point deadline)
{
    std::array<std::string *, 2> texts{&output.out, &output.err};
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0)
            return false;
        if (::poll(ends.data(), ends.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
            throw SystemError(errno, "cannot wait for what a program prints");
        for (size_t i = 0; i < ends.size(); ++i)
            if (ends.at(i).revents != 0 && !take(ends.at(i).fd, *texts.at(i)))
                ends.at(i).fd = -1;
    }
    return true;
}

int wait_for(pid_t pid)
{
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            throw SystemError(errno, "cannot wait for a program");
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool is_executable(const ResolvedPath &place)
{
    struct stat status {};
    return ::fstat(place.fd.get(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0111U) != 0;
}

} // namespace

std::span<const char *const> program_folders()
{
    return folders;
}

std::optional<std::string> find_program(const Sysroot &sysroot, const std::string &name)
{
    for (const char *const folder : folders) {
        const std::string path = std::string(folder) + "/" + name;
        const auto place = sysroot.find(path);
        if (place && is_executable(*place))
            return path;
    }
    return std::nullopt;
}

std::optional<Program> open_program(const std::string &path, uid_t other_owner)
{
    auto place = find_of_root_alone(Sysroot("/"), path, other_owner);
    if (!place)
        return std::nullopt;
    if (!is_executable(*place))
        throw Error(ErrorKind::BrokenHost, quote(path) + " is no executable file");
    return Program{path, std::move(place->fd)};
}

ProgramOutput run_program(const Program &program, const std::vector<std::string> &words,
                          std::chrono::seconds limit)
{
    const auto deadline = std::chrono::steady_clock::now() + limit;
    Pipe out;
    Pipe err;
    const pid_t pid = spawn(program, words, out.write_end.get(), err.write_end.get());
    out.write_end.reset();
    err.write_end.reset();
    ProgramOutput output;
    const bool is_done =
        read_both({{{out.read_end.get(), POLLIN, 0}, {err.read_end.get(), POLLIN, 0}}}, output, deadline);
    if (!is_done)
        ::kill(pid, SIGKILL);
    output.exit_status = wait_for(pid);
    if (!is_done)
        throw Error(ErrorKind::BrokenHost, quote(program.path) + " did not end in " +
                                               std::to_string(limit.count()) + " s, and was killed");
    return output;
}

std::string last_line(std::string output)
{
    while (output.ends_with('\n'))
        output.pop_back();
    return output.substr(output.rfind('\n') + 1);
}

} // namespace ogh::admin
