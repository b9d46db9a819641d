// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace ogh::admin {

/**
 * The first document of a text in YAML 1.1. Every scalar becomes a string, as it is written: what it stands for is for
 * the caller to say. Keys of mappings that are no scalars are left out.
 * @throws Error (Host) if it is no YAML, or is nested deeper than 64 levels or has more than a million nodes, counting
 *         those that aliases repeat
 */
nlohmann::json parse_yaml(std::string_view text);

} // namespace ogh::admin
