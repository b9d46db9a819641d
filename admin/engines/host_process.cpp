// SPDX-License-Identifier: Apache-2.0
#include "engines/host_process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "engines/worker_words.h"
#include "host/host_file.h"
#include "host/root_alone.h"
#include "kernel/directory_entries.h"

namespace ogh::admin {

namespace {

constexpr size_t max_words = size_t{1} << 17U; // bytes of a command line
constexpr int base_of_masks = 16;

/** What stands behind a label at the beginning of a line; "" if there is no such line. */
std::string line_of(const std::string &text, const std::string &label)
{
    const std::string wanted = "\n" + label;
    const std::string lines = "\n" + text;
    const size_t start = lines.find(wanted);
    if (start == std::string::npos)
        return "";
    const size_t value = start + wanted.size();
    return lines.substr(value, lines.find('\n', value) - value);
}

/** Numbers with one space between them. */
std::string with_spaces(std::string text)
{
    std::replace(text.begin(), text.end(), '\t', ' ');
    const size_t start = text.find_first_not_of(' ');
    return start == std::string::npos ? "" : text.substr(start);
}

std::string link_in(int directory, const char *name, const std::string &what)
{
    return read_link(directory, name, quote(name) + " of " + what);
}

struct stat status_in(int directory, const char *name, const std::string &what)
{
    struct stat status {};
    if (::fstatat(directory, name, &status, 0) != 0)
        throw SystemError(errno, "cannot look at " + what + " ('" + name + "')", ErrorKind::BrokenHost);
    return status;
}

bool is_same_file(const struct stat &one, const struct stat &other)
{
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

std::string named(pid_t pid)
{
    return "the process " + std::to_string(pid);
}

} // namespace

std::optional<Process> Process::open(pid_t pid)
{
    const std::string path = "/proc/" + std::to_string(pid);
    UniqueFd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (directory.valid())
        return Process(pid, std::move(directory));
    if (errno == ENOENT)
        return std::nullopt;
    throw SystemError(errno, "cannot look at " + named(pid), ErrorKind::BrokenHost);
}

std::string Process::read(const std::string &name, size_t limit) const
{
    auto text = read_file_in(directory_.get(), name, limit, "'" + name + "' of " + named(pid_));
    if (!text)
        throw Error(ErrorKind::BrokenHost, named(pid_) + " has ended");
    return std::move(*text);
}

ProcessIdentity Process::identity() const
{
    const std::string status = read("status");
    const auto effective = parse_number(with_spaces(line_of(status, "CapEff:")), base_of_masks);
    ProcessIdentity identity;
    identity.uids = with_spaces(line_of(status, "Uid:"));
    if (!effective || identity.uids.empty())
        throw Error(ErrorKind::BrokenHost, "the kernel does not say who " + named(pid_) + " is");
    identity.effective = *effective;
    identity.user_namespace = link_in(directory_.get(), "ns/user", named(pid_));
    identity.executable = link_in(directory_.get(), "exe", named(pid_));
    const UniqueFd file(::openat(directory_.get(), "exe", O_PATH | O_CLOEXEC));
    if (!file.valid())
        throw SystemError(errno, "cannot look at the executable of " + named(pid_), ErrorKind::BrokenHost);
    identity.why_not_root_alone = ogh::why_not_root_alone(file.get());
    return identity;
}

std::optional<std::vector<std::string>> Process::words() const
{
    try {
        std::vector<std::string> words = split_at_nul(read("cmdline", max_words));
        return words.empty() ? std::nullopt : std::optional(std::move(words));
    } catch (const Error &) {
        return std::nullopt; // it has ended, or it is somebody's whom this user may not look at
    }
}

std::vector<std::string> Process::environment() const
{
    return split_at_nul(read("environ"));
}

std::optional<Sysroot> Process::own_root() const
{
    const std::string path = "/proc/" + std::to_string(pid_) + "/root";
    const struct stat theirs = status_in(directory_.get(), "root", named(pid_));
    const struct stat own = status_in(AT_FDCWD, "/proc/self/root", "this process");
    if (link_in(directory_.get(), "ns/mnt", named(pid_)) ==
            link_in(AT_FDCWD, "/proc/self/ns/mnt", "this process") &&
        is_same_file(theirs, own))
        return std::nullopt;
    UniqueFd root(::openat(directory_.get(), "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid())
        throw SystemError(errno, "cannot open the root of " + named(pid_), ErrorKind::BrokenHost);
    return Sysroot::of_directory(std::move(root), path);
}

void Process::check_is_still(const ProcessIdentity &before) const
{
    if (identity() != before)
        throw Error(ErrorKind::BrokenHost, named(pid_) + " became another program while it was looked at");
}

bool visit_processes(const std::function<void(const Process &)> &visit)
{
    const UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!proc.valid())
        return true;
    const auto is_number = [](std::string_view name) {
        return parse_small_number(name, INT_MAX).has_value();
    };
    std::vector<pid_t> pids;
    for (const DirectoryEntry &entry :
         list_directory(proc.get(), {"'/proc'", is_number, 0, ErrorKind::BrokenHost}))
        pids.push_back(static_cast<pid_t>(*parse_small_number(entry.name, INT_MAX)));
    std::sort(pids.begin(), pids.end());
    const bool is_all = pids.size() <= max_processes;
    pids.resize(std::min(pids.size(), max_processes));
    for (const pid_t pid : pids)
        if (const auto process = Process::open(pid))
            visit(*process);
    return is_all;
}

} // namespace ogh::admin
