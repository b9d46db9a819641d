// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ogh::test {

/** From now on this process and its children get `error_number` from the system call `number`. */
void refuse_call(long number, int error_number);

} // namespace ogh::test
