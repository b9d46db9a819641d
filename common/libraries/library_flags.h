// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "loader/elf_library.h"

namespace ogh {

/**
 * The flags by which the loader of the library's own machine knows it in a cache, whatever machine this is. For
 * libc 6, as ldconfig has it for every library of today.
 * @return nothing for a machine that is not known here
 */
std::optional<std::int32_t> library_flags(const ElfLibrary &library);

} // namespace ogh
