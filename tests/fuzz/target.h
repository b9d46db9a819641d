// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "fuzz_config.h"

namespace ogh::fuzz {

/**
 * For each target NAME there is NAME::check, in NAME_fuzz.cpp: gives `input` to the code under test and looks at what comes
 * back. Whatever it throws is a finding.
 */
OGH_CHECK_DECLARATIONS

} // namespace ogh::fuzz
