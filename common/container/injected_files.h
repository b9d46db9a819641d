// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "edits/edits.h"

namespace ogh {

// What is made in a tmpfs of this collection, which is writable for nobody else.

/** Makes the folder `path`, relative to `tmpfs`, with those above it, and opens it (O_PATH). @throws SystemError */
UniqueFd make_injected_folders(int tmpfs, std::string_view path, const std::string &what);

/**
 * Makes what something is to be mounted over, a folder or an empty file, with the folders above it, and opens it (O_PATH);
 * what is there already will do.
 * @param path relative to `tmpfs`; a file's has a folder
 * @throws SystemError
 */
UniqueFd make_injected_target(int tmpfs, const std::string &path, Kind kind, const std::string &what);

/** Makes a plain file for everyone to read, in a folder that exists. @throws SystemError */
void write_injected_file(int tmpfs, const TmpfsEdit::File &file, const std::string &what);

} // namespace ogh
