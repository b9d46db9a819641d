// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "yaml/yaml_document.h"

namespace ogh {

/**
 * The first document of a text in YAML 1.1, as libyaml reads it.
 * @throws Error (BrokenHost) if it is no YAML, or goes beyond the limits of YamlDocument
 */
YamlDocument read_yaml(std::string_view text);

} // namespace ogh
