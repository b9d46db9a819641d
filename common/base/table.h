// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ogh {

/** Rows of cells; the first row is the head. */
using Table = std::vector<std::vector<std::string>>;

/**
 * A line for each row, its columns aligned two blanks apart, without blanks at the end. Cells may be text from outside:
 * a control character, which could move a terminal's cursor, becomes a question mark.
 */
std::string to_text(const Table &table);

/**
 * What people know a container by: the first 12 of the 64 hexadecimal digits that engines make up, as these show them; any
 * other name is somebody's own, such as "buildah-buildah3141592653", and is whole, up to 64 bytes.
 */
std::string short_container(std::string_view id);

} // namespace ogh
