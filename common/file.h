// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "unique_fd.h"

namespace ogh {

/**
 * Reads to the end of the file or pipe.
 * @param limit in bytes
 * @param what names it in messages
 * @throws Error if there is more than `limit`, or reading fails
 */
std::string read_all(int fd, size_t limit, const std::string &what);

} // namespace ogh
