// SPDX-License-Identifier: Apache-2.0
#include "engines/programs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "host/trusted_path.h"
#include "kernel/pidfd.h"

namespace ogh::admin {

namespace {

constexpr std::array directories = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                    "/usr/bin",        "/sbin",          "/bin"};
constexpr off_t max_output = off_t{1} << 20U;
constexpr int exit_without_program = 127; // as a shell says it

/** What a program prints goes into memory: nobody has to read while it runs, or wait for what it has left behind. */
UniqueFd new_output()
{
    UniqueFd output(::memfd_create("output", MFD_CLOEXEC));
    if (!output.valid())
        throw SystemError(errno, "cannot make a file in memory");
    return output;
}

std::string text_of(const UniqueFd &output)
{
    struct stat status {};
    if (::fstat(output.get(), &status) != 0 || ::lseek(output.get(), 0, SEEK_SET) != 0 ||
        (status.st_size > max_output && ::ftruncate(output.get(), max_output) != 0))
        throw SystemError(errno, "cannot read what a program has printed");
    return read_all(output.get(), max_output, "what a program has printed");
}

/** In the child: the descriptors that a program is started with. @return only if it cannot be run */
void become(const Program &program, const std::vector<char *> &argv, int out, int err)
{
    std::string path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    const std::array<char *, 2> environment{path.data(), nullptr};
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || ::dup2(null, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 ||
        ::dup2(err, STDERR_FILENO) < 0)
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
    const pid_t pid = ::fork();
    if (pid < 0)
        throw SystemError(errno, "cannot run " + quote(program.path), ErrorKind::BrokenHost);
    if (pid == 0) {
        become(program, argv, out, err);
        ::dprintf(err, "cannot run '%s': %s\n", program.path.c_str(), std::strerror(errno));
        ::_exit(exit_without_program);
    }
    return pid;
}

/** @return whether it ended within the limit; it has ended now */
bool wait_for(pid_t pid, std::chrono::milliseconds limit, int &exit_status)
{
    const auto pidfd = open_pidfd(pid);
    const bool is_over = pidfd && has_ended(pidfd->get(), static_cast<int>(limit.count()));
    if (!is_over)
        ::kill(pid, SIGKILL);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            throw SystemError(errno, "cannot wait for a program");
    exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return is_over;
}

bool is_executable(const ResolvedPath &place)
{
    struct stat status {};
    return ::fstat(place.fd.get(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0111U) != 0;
}

} // namespace

std::span<const char *const> program_directories()
{
    return directories;
}

std::optional<std::string> find_program(const Sysroot &sysroot, const std::string &name)
{
    for (const char *const directory : directories) {
        const std::string path = std::string(directory) + "/" + name;
        const auto place = sysroot.find(path);
        if (place && is_executable(*place))
            return path;
    }
    return std::nullopt;
}

std::optional<Program> open_program(const std::string &path, uid_t other_owner)
{
    auto place = find_trusted(Sysroot("/"), path, other_owner);
    if (!place)
        return std::nullopt;
    if (!is_executable(*place))
        throw Error(ErrorKind::BrokenHost, quote(path) + " is no executable file");
    return Program{path, std::move(place->fd)};
}

ProgramOutput run_program(const Program &program, const std::vector<std::string> &words,
                          std::chrono::seconds limit)
{
    const UniqueFd out = new_output();
    const UniqueFd err = new_output();
    ProgramOutput output;
    if (!wait_for(spawn(program, words, out.get(), err.get()), limit, output.exit_status))
        throw Error(ErrorKind::BrokenHost, quote(program.path) + " did not end in " +
                                               std::to_string(limit.count()) + " s, and was killed");
    output.out = text_of(out);
    output.err = text_of(err);
    return output;
}

bool is_status(const ProgramOutput &output, ExitStatus status)
{
    return output.exit_status == static_cast<int>(status);
}

std::string last_line(std::string output)
{
    while (output.ends_with('\n'))
        output.pop_back();
    return output.substr(output.rfind('\n') + 1);
}

} // namespace ogh::admin
