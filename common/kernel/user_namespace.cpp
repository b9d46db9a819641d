// SPDX-License-Identifier: Apache-2.0
#include "kernel/user_namespace.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"

namespace ogh {

namespace {

constexpr size_t max_map_size = 65536; // 340 lines at most, user_namespaces(7)

UniqueFd open_proc(const std::string &path)
{
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid())
        throw SystemError(errno, "cannot open " + quote(path));
    return fd;
}

IdMap read_map(const std::string &path)
{
    return IdMap::parse(read_all(open_proc(path).get(), max_map_size, quote(path)));
}

Error not_a_map(std::string_view text)
{
    return {ErrorKind::BrokenHost, "cannot understand the container's id map " + quote(text)};
}

struct stat status_of(const std::string &path)
{
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        throw SystemError(errno, "cannot look at " + quote(path));
    return status;
}

} // namespace

IdMap IdMap::parse(std::string_view text)
{
    constexpr std::string_view blanks = " \n";
    std::vector<std::uint32_t> numbers;
    for (std::string_view rest = text; rest.find_first_not_of(blanks) != std::string_view::npos;) {
        rest.remove_prefix(rest.find_first_not_of(blanks));
        const std::string_view word = rest.substr(0, rest.find_first_of(blanks));
        const auto number = parse_small_number(word, UINT32_MAX);
        if (!number)
            throw not_a_map(text);
        numbers.push_back(*number);
        rest.remove_prefix(word.size());
    }
    if (numbers.size() % 3 != 0)
        throw not_a_map(text);
    IdMap map;
    for (size_t i = 0; i < numbers.size(); i += 3)
        map.ranges_.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
    return map;
}

std::optional<std::uint32_t> IdMap::outside(std::uint32_t id) const
{
    for (const Range &range : ranges_) {
        if (id >= range.inside && id - range.inside < range.count)
            return range.outside + (id - range.inside);
    }
    return std::nullopt;
}

bool IdMap::has(std::uint32_t id) const
{
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range &range) {
        return id >= range.outside && id - range.outside < range.count;
    });
}

bool UserNamespace::root_may_write(std::uint32_t uid, std::uint32_t gid, mode_t mode) const
{
    const bool by_capability = uids.has(uid) && gids.has(gid);
    const bool as_owner = uids.root() == uid && (mode & S_IWUSR) != 0;
    return (mode & S_IWOTH) != 0 || by_capability || as_owner;
}

std::optional<FsCredentials> root_of(const std::optional<UserNamespace> &user_namespace)
{
    if (!user_namespace || !user_namespace->uids.root() || !user_namespace->gids.root())
        return std::nullopt;
    return FsCredentials{*user_namespace->uids.root(), *user_namespace->gids.root()};
}

bool in_initial_user_namespace()
{
    constexpr ino_t initial = 0xEFFFFFFDU; // PROC_USER_INIT_INO of include/linux/proc_ns.h
    return status_of("/proc/self/ns/user").st_ino == initial;
}

bool shares_namespace(pid_t pid, const std::string &kind)
{
    const struct stat ours = status_of("/proc/self/ns/" + kind);
    const struct stat theirs = status_of("/proc/" + std::to_string(pid) + "/ns/" + kind);
    return ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

IdMap own_uids()
{
    return read_map("/proc/self/uid_map");
}

std::optional<UserNamespace> user_namespace_of(pid_t pid)
{
    const std::string theirs = "/proc/" + std::to_string(pid);
    if (shares_namespace(pid, "user"))
        return std::nullopt;
    return UserNamespace{open_proc(theirs + "/ns/user"), read_map(theirs + "/uid_map"),
                         read_map(theirs + "/gid_map")};
}

} // namespace ogh
