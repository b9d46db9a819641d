// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ogh {

/**
 * Refuses a config.json in which runtimes may see something else than this process does. Those in Go take a member's name
 * in any case, join objects that come twice and let the last value count (encoding/json, `fold.go`); those in C take the
 * exact name, and the first or the last. No engine writes such a file, but what has written it may mean to mislead.
 * @param text is JSON
 * @param what names it in the message
 * @throws Error for a member that comes twice in an object, or whose name is that of one that is looked at but for its case
 */
void check_one_reading(std::string_view text, const char *what);

} // namespace ogh
