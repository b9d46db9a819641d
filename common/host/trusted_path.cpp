// SPDX-License-Identifier: Apache-2.0
#include "host/trusted_path.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/text.h"
#include "kernel/user_namespace.h"

namespace ogh {

namespace {

constexpr uid_t overflow_uid = 65534; // user_namespaces(7): of what is not mapped

std::string kind_of(int fd)
{
    struct stat status {};
    return ::fstat(fd, &status) == 0 && S_ISLNK(status.st_mode) ? "a symlink" : "a directory";
}

std::string why_others_may_change(int fd, uid_t other_owner, bool sticky_counts)
{
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        return "cannot be looked at";
    const bool is_root = status.st_uid == 0 || status.st_uid == other_owner ||
                         (status.st_uid == overflow_uid && !in_initial_user_namespace());
    if (!is_root)
        return "belongs to user " + std::to_string(status.st_uid);
    // Others may put files into a sticky directory, and not exchange one that is there; stat(2) on S_ISVTX.
    const bool is_sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
    const bool is_link = S_ISLNK(status.st_mode); // whose mode says nothing, symlink(7)
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !(is_sticky && sticky_counts) && !is_link)
        return "may be written by others than its owner";
    return "";
}

} // namespace

std::string why_not_trusted(int fd, uid_t other_owner)
{
    return why_others_may_change(fd, other_owner, true);
}

std::string why_others_may_add(int fd, uid_t other_owner)
{
    return why_others_may_change(fd, other_owner, false);
}

std::optional<ResolvedPath> find_trusted(const Sysroot &sysroot, const std::string &path, uid_t other_owner)
{
    auto place = sysroot.find(path, [&](int step) {
        if (const std::string why = why_not_trusted(step, other_owner); !why.empty())
            throw Error(ErrorKind::BrokenHost, kind_of(step) + " on the way to " + quote(path) + " " + why);
    });
    if (place)
        if (const std::string why = why_not_trusted(place->fd.get(), other_owner); !why.empty())
            throw Error(ErrorKind::BrokenHost, quote(path) + " " + why);
    return place;
}

} // namespace ogh
