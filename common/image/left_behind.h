// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel/inode.h"

namespace ogh {

/** Whether it is an empty file, as others leave one behind in an image where they have mounted something. */
inline bool is_left_behind(const Inode &inode)
{
    return inode.is(Kind::File) && inode.size == 0 && !inode.mount_root;
}

} // namespace ogh
