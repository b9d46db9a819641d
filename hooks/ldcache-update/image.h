// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "image/container_view.h"
#include "ldcache-update/library_request.h"
#include "libraries/loader_file.h"
#include "request/request.h"

namespace ogh::ldcache_update {

/**
 * Reads the image through descriptors, as the container could.
 * @param notes files that are left out
 * @throws Error if a directory that was asked for is not there, or may not be read
 */
LoaderImage read_image(ContainerView &view, const LibraryRequest &request, Notes &notes);

/**
 * Who was given a tree with a driver's files is given a loader cache that knows them, however that was asked for: by an
 * annotation, by the environment or by options of the other hook, which this one does not see. Looks at the mount table
 * of the container, which is not entered yet.
 * @return `auto` if it has an injected tmpfs; nothing also if that cannot be seen, since nobody has asked
 */
std::optional<Request> asked_by_tree(const Container &container);

/**
 * The lines of one list, as absolute directories. Pure.
 * @param mounted_at where its tmpfs is mounted, as the container names it
 * @throws Error for a line that is no such directory
 */
std::vector<std::string> parse_directory_list(std::string_view text, const std::string &mounted_at);

} // namespace ogh::ldcache_update
