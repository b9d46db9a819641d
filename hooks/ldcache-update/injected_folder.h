// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "entered_container.h"
#include "folder_libraries.h"
#include "log.h"

namespace ogh::ldcache_update {

/**
 * The libraries in a folder of the container and in its glibc-hwcaps subfolders, of which only headers are read.
 * @param notes files that have a library's name and are none
 * @throws Error: NotAvailable if there is no such folder; Failure if it holds too many files
 */
std::vector<AddedLibrary> read_injected_folder(const EnteredContainer &container, const std::string &path,
                                               Notes &notes);

} // namespace ogh::ldcache_update
