// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace ogh {

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
