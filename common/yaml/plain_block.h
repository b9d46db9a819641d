// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "yaml/yaml_builder.h"

namespace ogh {

/**
 * Reads YAML in the form that programs write: ASCII, a line for each key and each item, a value behind it or in the
 * lines that follow, indented. No comments, anchors, tags, `[]`, or texts of several lines: whoever needs them pays for
 * the library, and whoever does not gets the same values from here.
 * @return false if the text is anything else, and then the document is of no use
 * @throws Error (BrokenHost) as the builder
 */
bool read_plain_block(std::string_view text, YamlBuilder &builder);

} // namespace ogh
