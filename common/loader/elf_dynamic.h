// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "loader/elf_file.h"

namespace ogh {

/**
 * What the dynamic section of a library has for each of these tags (DT_*), of which as with ldconfig the first entry
 * counts. It is read no further than needed, and at most 512 entries of it.
 * @return as many values as tags, in their order; nothing for a tag that it lacks
 * @throws Error (NotAvailable) if there is no such section, or not a whole one
 */
std::vector<std::optional<std::uint64_t>> read_dynamic(const ElfFile &file,
                                                       std::span<const std::uint64_t> tags);

} // namespace ogh
