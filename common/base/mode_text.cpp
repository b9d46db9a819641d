// SPDX-License-Identifier: Apache-2.0
#include "base/mode_text.h"

#include <array>
#include <cstdio>

namespace ogh {

std::string mode_text(mode_t mode)
{
    constexpr mode_t permissions = 07777;
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%04o", mode & permissions);
    return text.data();
}

} // namespace ogh
