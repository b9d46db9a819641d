// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "image/image_reader.h"

namespace ogh {

/**
 * Opens a plain file of an image, or what a link leads to in the root if that is one; nothing else is ever opened.
 * @return nothing if there is none, or it may not be read
 */
std::optional<UniqueFd> open_image_file(const ImageReader &reader, const std::string &path);

} // namespace ogh
