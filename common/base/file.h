// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

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

/**
 * Reads to the end of the file or pipe.
 * @param limit in bytes
 * @param what names it in messages
 * @param expected its length, as far as it is known; takes no more memory than that if it is right
 * @throws Error if there is more than `limit`, or reading fails
 */
std::string read_all(int fd, size_t limit, const std::string &what, size_t expected = 4095);

/** Writes all of `content`. @throws SystemError; `what` names the file */
void write_all(int fd, std::string_view content, const std::string &what);

/** What a symlink says. @param path below an open directory. @throws SystemError (BrokenHost); `what` names the link */
std::string read_link(int directory, const std::string &path, const std::string &what);

} // namespace ogh
