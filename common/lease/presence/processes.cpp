// SPDX-License-Identifier: Apache-2.0
#include "lease/presence/processes.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/nsfs.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "kernel/directory_entries.h"

namespace ogh {

namespace {

constexpr size_t max_file = size_t{1} << 20U;

/** How much there is to read at once: a line of stat is shorter, and mostly all of status. */
constexpr size_t usual_size = 2047;

bool is_gone(int error_number)
{
    return error_number == ENOENT || error_number == ESRCH;
}

/** A field of /proc/PID/stat behind the command, from 3. */
std::optional<std::uint64_t> number_in(std::string_view stat, size_t field)
{
    // The command stands in parentheses and may have any of its own, and blanks, and line ends.
    const size_t end = stat.rfind(')');
    if (end == std::string_view::npos || end + 2 > stat.size())
        return std::nullopt;
    constexpr size_t first_after = 3;
    std::string_view rest = stat.substr(end + 2);
    for (size_t at = first_after; at < field; ++at) {
        const size_t blank = rest.find(' ');
        if (blank == std::string_view::npos)
            return std::nullopt;
        rest.remove_prefix(blank + 1);
    }
    return parse_number(rest.substr(0, rest.find(' ')));
}

} // namespace

std::optional<std::uint64_t> start_time_of(std::string_view stat)
{
    constexpr size_t start_time = 22;
    return number_in(stat, start_time);
}

bool has_executed_nothing(std::string_view stat)
{
    constexpr size_t flags = 9;
    constexpr size_t user_ticks = 14;
    constexpr size_t system_ticks = 15;
    constexpr std::uint64_t forked_without_exec = 0x40; // PF_FORKNOEXEC of the kernel's include/linux/sched.h
    constexpr std::uint64_t second = 100;               // in ticks of procfs
    return (number_in(stat, flags).value_or(0) & forked_without_exec) != 0 &&
           number_in(stat, user_ticks).value_or(0) + number_in(stat, system_ticks).value_or(0) < second;
}

std::vector<pid_t> process_numbers(int directory, const std::string &what)
{
    const auto is_process = [](std::string_view name) {
        return parse_small_number(name, INT_MAX).has_value();
    };
    std::vector<pid_t> found;
    for (const DirectoryEntry &entry :
         list_directory(directory, {what, is_process, 0, ErrorKind::BrokenHost}))
        found.push_back(static_cast<pid_t>(*parse_small_number(entry.name, INT_MAX)));
    std::sort(found.begin(), found.end());
    return found;
}

std::optional<std::uint64_t> processor_time_of(pid_t pid)
{
    clockid_t clock{};
    timespec used{};
    if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0)
        return std::nullopt;
    return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(used.tv_nsec);
}

bool is_first_of_a_pid_namespace(std::string_view information)
{
    // The name in the first line has no line ends: they are escaped.
    constexpr std::string_view label = "\nNSpid:\t";
    const size_t start = information.find(label);
    if (start == std::string_view::npos)
        return false;
    information.remove_prefix(start + label.size());
    const auto numbers = split_list(information.substr(0, information.find('\n')), '\t');
    return numbers.size() > 1 && numbers.back() == "1";
}

Processes::Processes() : space_(find_space()) {}

ProcessSpace Processes::find_space() const
{
    const auto boot = read_path("sys/kernel/random/boot_id");
    const auto own = pid_namespace_of("self");
    const auto stat = read_path("1/stat");
    const auto start = stat ? start_time_of(*stat) : std::nullopt;
    if (!boot || !own || !start)
        throw Error(ErrorKind::BrokenHost, "/proc does not say which boot and which pid namespace this is");
    // In /proc of another namespace this process has another number, or none. Without CAP_SYS_PTRACE that is not seen
    // of process 1, which is no reason to list nothing.
    if (const auto first = pid_namespace_of("1"); first && *first != *own)
        throw Error(ErrorKind::BrokenHost,
                    "/proc shows the processes of another pid namespace than this process's own");
    return {std::string(trimmed(boot->substr(0, boot->find('\n')))), *own, *start};
}

std::optional<HeldProcess> Processes::open_pidfd(pid_t pid) const
{
    std::optional<UniqueFd> pidfd = ogh::open_pidfd(pid);
    if (!pidfd)
        return std::nullopt;
    const auto id = identity_of(pid);
    if (!id || has_ended(pidfd->get()))
        return std::nullopt;
    return HeldProcess{*id, std::move(*pidfd)};
}

ProcessId Processes::own_id() const
{
    const auto self = open_pidfd(::getpid());
    if (!self)
        throw Error(ErrorKind::BrokenHost, "/proc does not show this process");
    return self->id;
}

std::optional<UniqueFd> Processes::find(const ProcessId &id) const
{
    std::optional<UniqueFd> pidfd = ogh::open_pidfd(id.pid);
    if (!pidfd)
        return std::nullopt;
    // Compared now that the number cannot become another process's any more.
    const auto now = identity_of(id.pid);
    if (!now || *now != id || has_ended(pidfd->get()))
        return std::nullopt;
    return pidfd;
}

bool Processes::is_taken(pid_t pid)
{
    return ::kill(pid, 0) == 0 || errno != ESRCH;
}

std::optional<ProcessId> Processes::identity_of(pid_t pid) const
{
    const std::string process = std::to_string(pid);
    const auto stat = read_path(process + "/stat");
    if (!stat)
        return std::nullopt;
    const auto start = start_time_of(*stat);
    if (!start)
        throw Error(ErrorKind::BrokenHost, "/proc/" + process + "/stat cannot be understood");
    return ProcessId{pid, *start};
}

std::optional<std::uint64_t> Processes::pid_namespace_of(const std::string &process) const
{
    struct stat status {};
    const std::string path = process + "/ns/pid";
    if (::fstatat(proc_.fd(), path.c_str(), &status, 0) == 0)
        return status.st_ino;
    if (is_gone(errno) || errno == EACCES || errno == EPERM)
        return std::nullopt;
    throw SystemError(errno, "cannot look at /proc/" + path, ErrorKind::BrokenHost);
}

std::optional<std::string> Processes::read_path(const std::string &path) const
{
    const UniqueFd fd(::openat(proc_.fd(), path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid() && is_gone(errno))
        return std::nullopt;
    if (!fd.valid())
        throw SystemError(errno, "cannot open /proc/" + path, ErrorKind::BrokenHost);
    try {
        return read_all(fd.get(), max_file, "/proc/" + path, usual_size);
    } catch (const SystemError &error) {
        if (is_gone(error.error_number()))
            return std::nullopt;
        throw;
    }
}

std::optional<std::string> Processes::read(pid_t pid, const std::string &name) const
{
    return read_path(std::to_string(pid) + "/" + name);
}

std::string Processes::read_own(const std::string &name) const
{
    return read_path("self/" + name).value_or("");
}

UniqueFd Processes::open_directory(const std::string &path) const
{
    return UniqueFd(::openat(proc_.fd(), path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::vector<pid_t> Processes::all() const
{
    return process_numbers(proc_.fd(), "/proc");
}

UniqueFd Processes::open_pid_namespace(pid_t pid) const
{
    const std::string path = std::to_string(pid) + "/ns/pid";
    return UniqueFd(::openat(proc_.fd(), path.c_str(), O_RDONLY | O_CLOEXEC));
}

PidNamespace::PidNamespace(const Processes &processes, std::uint64_t number)
    : processes_(processes), known_{{processes.space().pid_namespace, false}, {number, true}}
{
}

bool PidNamespace::has(pid_t pid)
{
    std::vector<std::uint64_t> way;
    bool is_in = false;
    struct stat status {};
    for (UniqueFd each = processes_.open_pid_namespace(pid); each.valid();
         each = UniqueFd(::ioctl(each.get(), NS_GET_PARENT))) {
        if (::fstat(each.get(), &status) != 0)
            break;
        way.push_back(status.st_ino);
        if (const auto known = known_.find(status.st_ino); known != known_.end()) {
            is_in = known->second;
            break;
        }
    }
    for (const std::uint64_t number : way)
        known_.emplace(number, is_in);
    return is_in;
}

} // namespace ogh
