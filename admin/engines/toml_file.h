// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace ogh::admin {

/** Bytes; engines' own examples have 0.03 MB, and the library takes a second for a table of a megabyte made for it. */
inline constexpr size_t max_toml_size = size_t{1} << 18U;

/**
 * A text in TOML 1.0 as JSON; dates and times are null. Behind it is a library of headers that takes long to compile.
 * @param text of max_toml_size at most
 * @throws Error (BrokenHost) if it is none, or is nested deeper than anybody needs
 */
nlohmann::json parse_toml(const std::string &text);

} // namespace ogh::admin
