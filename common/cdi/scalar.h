// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace ogh::cdi {

/** What a scalar stands for, to whoever reads it. */
enum class Scalar : std::uint8_t {
    Null,
    Flag,    ///< "true" or "false"
    Integer, ///< decimal, with no digit or sign that it could do without: as a text it is the same
    Octal,   ///< not negative, with a 0 in front
    Text,
    Unclear, ///< perhaps another text, a number or a truth for the reference implementation
};

/**
 * The reference implementation of CDI reads its files by the rules of YAML 1.1 that go-yaml 2 has: `yes` is true, and
 * `0x10`, `1_0.5` and `08` are numbers, which become texts such as "16" where one is wanted. Programs write no such
 * thing, so it is not read here either: whatever could be one of those is unclear.
 * @param is_plain it has no quotes
 */
Scalar resolve_scalar(std::string_view text, bool is_plain);

} // namespace ogh::cdi
