// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace ogh::admin {

/**
 * The first document of a text in YAML 1.1. Every scalar becomes a string, as it is written: what it stands for is for
 * the caller to say. Keys of mappings that are no scalars are left out.
 * @throws Error (BrokenHost) as read_yaml()
 */
nlohmann::json parse_yaml(std::string_view text);

} // namespace ogh::admin
