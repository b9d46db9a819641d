// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs_credentials.h"

#include <sys/fsuid.h>
#include <unistd.h>

namespace ogh {

ScopedFsCredentials::ScopedFsCredentials(const FsCredentials &owner)
{
    ::setfsgid(owner.gid); // the group first: without root's uid it may not be changed any more
    ::setfsuid(owner.uid);
}

ScopedFsCredentials::~ScopedFsCredentials()
{
    ::setfsuid(::geteuid());
    ::setfsgid(::getegid());
}

} // namespace ogh
