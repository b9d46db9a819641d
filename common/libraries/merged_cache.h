// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "libraries/directory_libraries.h"
#include "loader/ld_cache.h"

namespace ogh {

/**
 * The bytes of an ld.so.cache with the image's entries and the added ones, in the new form alone (see
 * ld_cache_format.h) and in the order in which the loader searches. Of entries that are alike to the loader the
 * added one comes first. The image's entries for files directly in one of the directories, or below its glibc-hwcaps,
 * are left out: what is there now is in `added`. All others are kept as they are. The same input gives the same
 * bytes, and so does reading the result and merging the same again.
 *
 * The extensions are written if the image's cache has them, there is none, or an added library is below
 * glibc-hwcaps. The result is at most twice as long as the image's cache, plus what is added and 128 bytes, whatever
 * that cache holds (entries of the old form grow, from 12 bytes to 24); mostly it is about as long.
 *
 * @param image what the image has; nullptr: nothing
 * @param directories absolute, without a slash at the end
 * @throws Error if the result would have 4 GiB, more than its offsets reach
 */
std::string merged_cache(const LdCache *image, const std::vector<std::string> &directories,
                         const std::vector<AddedLibrary> &added);

} // namespace ogh
