// SPDX-License-Identifier: Apache-2.0
#include "kernel/owner.h"

#include <sys/fsuid.h>
#include <unistd.h>

namespace ogh {

ActAs::ActAs(const Owner &owner)
{
    ::setfsgid(owner.gid); // the group first: without root's uid it may not be changed any more
    ::setfsuid(owner.uid);
}

ActAs::~ActAs()
{
    ::setfsuid(::geteuid());
    ::setfsgid(::getegid());
}

} // namespace ogh
