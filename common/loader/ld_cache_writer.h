// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "loader/ld_cache.h"

namespace ogh {

/**
 * The bytes of an ld.so.cache in the new form (see ld_cache_format.h) with these entries, in this order.
 * @param with_extensions whether to write the extensions section; it must be, if an entry has a subdirectory
 * @throws Error if the result would have 4 GiB, more than its offsets reach
 */
std::string write_ld_cache(const std::vector<const LdCacheEntry *> &entries, bool with_extensions);

} // namespace ogh
