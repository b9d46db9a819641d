// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ogh {

/**
 * FIPS 180-4, in 64 hexadecimal digits, by libmd: a library that chooses among processors does so as each hook starts, and each
 * look at what the processor is leaves a virtual machine. That took longer than all else that a hook with nothing to do does.
 */
std::string sha256_of(std::string_view text);

/** Whether they are equal, which takes as long whatever is in them. */
bool is_same_hash(const std::string &one, const std::string &other);

} // namespace ogh
