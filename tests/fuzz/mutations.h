// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ogh::fuzz {

/**
 * What becomes of a file when it is cut short, damaged, or put together with another one. The same inputs on every
 * machine and in every run.
 * @param others the corpus, to take second halves from; not empty
 */
std::vector<std::string> mutations(const std::string &original, const std::vector<std::string> &others);

} // namespace ogh::fuzz
