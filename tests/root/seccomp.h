// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ogh::test {

/** From now on this process and its children get `error_number` from the system call `number`. */
void refuse_call(long number, int error_number);

/** The same, if argument `index` of the call (0 is the first) has this value in its lower half. */
void refuse_call_with(long number, int error_number, unsigned index, std::uint32_t value);

} // namespace ogh::test
