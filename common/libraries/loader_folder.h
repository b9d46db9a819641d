// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ogh {

/** Whether the loader's files, which take folders one a line and split them at some characters, can name this one. Pure. */
bool can_be_in_loader_files(std::string_view folder);

} // namespace ogh
