// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ogh::fuzz {

/**
 * Gives `input` to the code under test and looks at what comes back; each NAME_fuzz.cpp defines it.
 * Whatever it throws is a finding.
 */
void check(std::string_view input);

} // namespace ogh::fuzz
