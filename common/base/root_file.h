// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

namespace ogh {

/**
 * For a file whose path a hook's option names. It was opened by a path without symlinks, so that nobody could exchange
 * it for another one of root's but by a directory that root has let them write.
 * @param fd of the file, opened with O_PATH or O_NONBLOCK
 * @param most the permissions that it may have, such as 0600
 * @param what names it in messages
 * @throws Error (BrokenHost) if it is not a plain file of this process's user (root) with one name and no other permissions
 */
void check_root_file(int fd, mode_t most, const std::string &what);

} // namespace ogh
