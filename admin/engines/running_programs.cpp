// SPDX-License-Identifier: Apache-2.0
#include "engines/running_programs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>

#include "base/error.h"
#include "base/number.h"
#include "host/host_file.h"
#include "kernel/folder_entries.h"
#include "lease/processes.h"

namespace ogh::admin {

namespace {

constexpr size_t max_file = size_t{1} << 21U;

std::string folder_of(pid_t pid)
{
    return "/proc/" + std::to_string(pid);
}

/** What ends with NUL each: proc(5) on cmdline and environ. */
std::vector<std::string> split_at_nul(const std::string &text)
{
    std::vector<std::string> parts;
    for (size_t start = 0; start < text.size();) {
        const size_t end = std::min(text.find('\0', start), text.size());
        parts.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

/** @return nothing of a process that has ended, or that this one may not look at */
std::optional<std::string> read_quietly(int folder, const std::string &name)
{
    try {
        return read_file_in(folder, name, max_file, name);
    } catch (const Error &) {
        return std::nullopt;
    }
}

/** The line "btime" of /proc/stat. */
std::optional<std::int64_t> boot_time(const Sysroot &sysroot)
{
    const std::string text = read_host_file(sysroot, "/proc/stat", max_file).value_or("");
    constexpr std::string_view label = "\nbtime ";
    const size_t start = text.find(label);
    if (start == std::string::npos)
        return std::nullopt;
    const size_t number = start + label.size();
    const auto seconds = parse_number(text.substr(number, text.find('\n', number) - number));
    return seconds ? std::optional(static_cast<std::int64_t>(*seconds)) : std::nullopt;
}

std::optional<std::string> read_link(const Sysroot &sysroot, const std::string &folder,
                                     const std::string &name)
{
    const auto place = sysroot.find(folder);
    std::array<char, PATH_MAX> target{};
    const ssize_t length =
        place ? ::readlinkat(place->fd.get(), name.c_str(), target.data(), target.size()) : -1;
    if (length <= 0)
        return std::nullopt;
    return std::string(target.data(), static_cast<size_t>(length));
}

} // namespace

std::vector<RunningProgram>
running_programs(const Sysroot &sysroot,
                 const std::function<bool(const std::vector<std::string> &)> &is_wanted)
{
    std::vector<RunningProgram> found;
    const auto proc = sysroot.find("/proc");
    if (!proc)
        return found;
    const auto is_number = [](std::string_view name) {
        return parse_small_number(name, INT_MAX).has_value();
    };
    for (const FolderEntry &entry : list_folder(proc->fd.get(), {"'/proc'", is_number, 0, ExitCode::Host})) {
        const auto line = read_quietly(proc->fd.get(), entry.name + "/cmdline");
        std::vector<std::string> words = split_at_nul(line.value_or(""));
        if (!words.empty() && is_wanted(words))
            found.push_back({static_cast<pid_t>(*parse_small_number(entry.name, INT_MAX)), std::move(words)});
    }
    std::sort(found.begin(), found.end(),
              [](const auto &one, const auto &other) { return one.pid < other.pid; });
    return found;
}

std::map<std::string, std::string> environment_of(const Sysroot &sysroot, pid_t pid)
{
    std::map<std::string, std::string> environment;
    const std::string text = read_host_file(sysroot, folder_of(pid) + "/environ", max_file).value_or("");
    for (const std::string &setting : split_at_nul(text)) {
        const size_t end = setting.find('=');
        if (end != std::string::npos)
            environment[setting.substr(0, end)] = setting.substr(end + 1);
    }
    return environment;
}

std::optional<std::string> executable_of(const Sysroot &sysroot, pid_t pid)
{
    return read_link(sysroot, folder_of(pid), "exe");
}

std::optional<std::int64_t> started_at(const Sysroot &sysroot, pid_t pid)
{
    const auto booted = boot_time(sysroot);
    const auto ticks =
        start_time_of(read_host_file(sysroot, folder_of(pid) + "/stat", max_file).value_or(""));
    if (!booted || !ticks)
        return std::nullopt;
    return *booted + static_cast<std::int64_t>(*ticks) / ::sysconf(_SC_CLK_TCK);
}

bool shares_root(const Sysroot &sysroot, pid_t pid)
{
    const auto theirs = read_link(sysroot, folder_of(pid) + "/ns", "mnt");
    if (!theirs || theirs != read_link(sysroot, "/proc/self/ns", "mnt"))
        return false;
    const auto root = Sysroot::of_process(sysroot, pid);
    const auto top = root ? root->find("/") : std::nullopt;
    const auto own = sysroot.find("/");
    struct stat one {};
    struct stat other {};
    return top && own && ::fstat(top->fd.get(), &one) == 0 && ::fstat(own->fd.get(), &other) == 0 &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

} // namespace ogh::admin
