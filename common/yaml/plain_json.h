// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "yaml/yaml_builder.h"

namespace ogh {

/**
 * Reads an object of JSON in the form that programs write: in ASCII, without escapes like `\u0041`. What it understands
 * is the same in YAML 1.1, value by value: whoever writes JSON pays for none of what YAML allows beside it.
 * @return false if the text is anything else, and then the document is of no use
 * @throws Error (BrokenHost) as the builder
 */
bool read_plain_json(std::string_view text, YamlBuilder &builder);

} // namespace ogh
