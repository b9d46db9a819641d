// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ogh {

using Sha256 = std::array<std::uint8_t, 32>;

/**
 * FIPS 180-4, by libmd: a library that chooses among processors does so as each hook starts, and each look at what the
 * processor is leaves a virtual machine. That took longer than all else that a hook with nothing to do does.
 */
Sha256 sha256(std::string_view text);

/** Whether they are equal, which takes as long whatever is in them. */
bool is_same_hash(const Sha256 &one, const Sha256 &other);

} // namespace ogh
