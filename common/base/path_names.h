// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ogh {

// Paths as texts: nothing here looks at a file.

/** The directory that an absolute path is in; "/" for what is in the root. */
std::string directory_of(const std::string &path);

/** The last component of a path; all of it if it has but one. */
std::string file_name_of(const std::string &path);

/** Whether `lower` is `upper`, or lies below it. */
bool is_at_or_below(std::string_view lower, std::string_view upper);

/** An absolute path without "", "." and "..", as runtimes clean it; ".." of the root is the root. */
std::string without_dots(std::string_view path);

/** The path of a name in a directory, which may be "/". */
std::string path_in(const std::string &directory, std::string_view name);

} // namespace ogh
