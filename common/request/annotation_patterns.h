// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "oci/config.h"

namespace ogh {

// KEY=PATTERN, several of them: what a host says of a container's annotations. PATTERN is that of fnmatch(3).

/** @param option that takes them, for the message. @throws Error (Usage) for one that is not of that form */
void check_patterns(const std::vector<std::string> &patterns, const std::string &option);

/** What is in front of its first `=`. */
std::string key_of_pattern(const std::string &pattern);

/** Every KEY needs a match; of several patterns for it, one. @return the first KEY that has none; "" if all have */
std::string unmet_key(const Config &config, const std::vector<std::string> &patterns);

} // namespace ogh
