// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/fsuid.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

namespace ogh {

/** Who owns what is made in a container: its root, as this process numbers it. */
struct FsCredentials {
    uid_t uid;
    gid_t gid;
};

/** Acts on files as somebody else while it lives: setfsuid(2). CAP_DAC_OVERRIDE is not in effect meanwhile. */
class ScopedFsCredentials final {
public:
    explicit ScopedFsCredentials(const FsCredentials &owner)
    {
        ::setfsgid(owner.gid); // the group first: without root's uid it may not be changed any more
        ::setfsuid(owner.uid);
    }
    ScopedFsCredentials(const ScopedFsCredentials &) = delete;
    ScopedFsCredentials &operator=(const ScopedFsCredentials &) = delete;
    ~ScopedFsCredentials()
    {
        ::setfsuid(::geteuid());
        ::setfsgid(::getegid());
    }
};

/** How a call that changes a container's files has ended. */
struct Acted {
    int error;    ///< 0 or an error number
    bool by_self; ///< done by this process, though there is an owner: what it made is to be given to that one
};

/**
 * Makes a call as the container's root, which the kernel asks for on filesystems that were mounted in a user
 * namespace; where that one lacks the permission, as this process.
 * @param owner nothing: this process at once
 * @param call returns 0 or an error number
 */
template<typename Call> Acted act_for(const std::optional<FsCredentials> &owner, Call call)
{
    if (!owner)
        return {call(), false};
    const int error = [&] {
        const ScopedFsCredentials other(*owner);
        return call();
    }();
    if (error != EACCES && error != EPERM)
        return {error, false};
    return {call(), true};
}

} // namespace ogh
