// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include "target.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are text here
    ogh::fuzz::OGH_TARGET::check({reinterpret_cast<const char *>(data), size});
    return 0;
}
