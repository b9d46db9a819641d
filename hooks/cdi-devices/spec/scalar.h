// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace ogh::cdi_devices {

/**
 * What a scalar stands for, by the rules of YAML 1.1 as go-yaml 2 has them, with which the reference implementation of CDI
 * reads its files: `0660` is octal, `yes` is true, and `08` and `1_0.5` are numbers too. std::monostate is null.
 */
using Scalar = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

/**
 * @param plain it has no quotes
 * @param tag as YamlDocument::tag()
 * @throws Error (BrokenHost) if it is not what its tag says
 */
Scalar resolve_scalar(std::string_view text, bool plain, std::string_view tag);

/** Whether it can be nothing else than this text, by its first character. Most can, and this is quick to say. */
bool is_mere_text(std::string_view text, bool plain, std::string_view tag);

/** The same where a text is wanted: a number is written anew (`0x10` is "16"), and null is "". */
std::string to_string(const Scalar &scalar);

} // namespace ogh::cdi_devices
