// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_place.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <vector>

#include "base/error.h"
#include "kernel/user_namespace.h"

namespace ogh {

namespace {

/** Who may write it may exchange what is in it. */
bool is_written_by_its_owner_alone(const struct stat &status)
{
    return S_ISDIR(status.st_mode) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/**
 * A directory that this namespace's root owns. Those above it are its own as well, or of somebody who has no number here, as
 * the host's root: whoever that is can have it all anyway.
 * @param names from the root on
 */
std::optional<UniqueFd> find_own_directory(const Sysroot &sysroot, const std::vector<std::string> &names)
{
    const auto root = sysroot.find("/");
    if (!root)
        return std::nullopt;
    UniqueFd fd;
    struct stat status {};
    for (const std::string &name : names) {
        const int parent = fd.valid() ? fd.get() : root->fd.get();
        UniqueFd next(::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!next.valid() || ::fstat(next.get(), &status) != 0 || !is_written_by_its_owner_alone(status))
            return std::nullopt;
        fd = std::move(next);
    }
    return status.st_uid == 0 ? std::optional(std::move(fd)) : std::nullopt;
}

/** "1000": who this namespace's root is outside of it. */
std::string outer_root()
{
    const auto root = own_uids().root();
    return root ? std::to_string(*root) : "";
}

} // namespace

std::optional<LeasePlace> find_lease_place(const Sysroot &sysroot)
{
    if (auto run = find_own_directory(sysroot, {"run"}))
        return LeasePlace{std::move(*run), "/run", "the containers of this user namespace's root"};
    const std::string uid = outer_root();
    if (uid.empty())
        return std::nullopt;
    if (auto run = find_own_directory(sysroot, {"run", "user", uid}))
        return LeasePlace{std::move(*run), "/run/user/" + uid, "the containers of user " + uid};
    return std::nullopt;
}

std::string why_no_lease_place()
{
    if (in_initial_user_namespace())
        return "only root can take one";
    const std::string uid = outer_root();
    return "this is a user namespace, whose root has neither /run of its own nor '/run/user/" + uid +
           "', which 'loginctl enable-linger' makes for user " + uid;
}

} // namespace ogh
