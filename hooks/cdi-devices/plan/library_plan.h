// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "edits/edits.h"
#include "libraries/folder_libraries.h"

namespace ogh::cdi_devices {

/** Libraries that are put into folders of the container, by the folder. */
using FolderFiles = std::map<std::string, std::vector<FoundFile>>;

/**
 * The entries of the loader's cache for what mounts and links put into the folders. Pure.
 * @param folders in the order of the request
 * @param files of the mounts
 * @param links those that lead to one of the files, in its folder, count as well
 * @param preferred entries that win over others of the same name: the image's own
 * @param notes gets a warning if there are libraries of a machine that is not known here
 */
std::vector<AddedLibrary> added_libraries(const std::vector<std::string> &folders, const FolderFiles &files,
                                          const std::vector<LinkEdit> &links,
                                          const std::vector<AddedLibrary> &preferred, Notes &notes);

} // namespace ogh::cdi_devices
