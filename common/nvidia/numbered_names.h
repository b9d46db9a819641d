// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ogh {

/** A name that is a word and a number, as the kernel writes it: "gi7". */
struct NumberedName {
    unsigned number = 0;
    std::string name;
};

struct NumberedNames {
    std::string directory;   ///< as this process names it, for messages
    std::string_view prefix; ///< the word
    unsigned limit = 0;      ///< the highest number that counts
};

/**
 * The names in an open directory (O_PATH will do) that are the word and a number, in the order of the numbers.
 * @throws Error (BrokenHost) if it cannot be read, or has more than 1024 of them
 */
std::vector<NumberedName> numbered_names(int directory, const NumberedNames &wanted);

} // namespace ogh
