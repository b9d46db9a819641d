// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "image/container_view.h"
#include "request/request.h"

namespace ogh::ldcache_update {

/**
 * Who was given a tree with a driver's files is given a loader cache that knows them, however that was asked for: by an
 * annotation, by the environment or by options of the other hook, which this one does not see. Looks at the mount table
 * of the container, which is not entered yet.
 * @return `auto` if it has an injected tmpfs; nothing also if that cannot be seen, since nobody has asked
 */
std::optional<Request> asked_by_tree(const Container &container);

/**
 * The folders that hooks of this collection have put libraries in. Each of them mounts a tmpfs of its own, with the
 * source name `oci-gpu-hooks` in the mount table and a file `.oci-gpu-hooks/ld-folders` at its top: one folder a
 * line, at or below the place where the tmpfs is mounted; relative to that place, or absolute. No image can make such
 * a mount; a file of that name anywhere else is not looked at.
 * @param notes why a list is left out
 */
std::vector<std::string> listed_folders(ContainerView &view, Notes &notes);

/**
 * The lines of one list, as absolute folders. Pure.
 * @param mounted_at where its tmpfs is mounted, as the container names it
 * @throws Error for a line that is no such folder
 */
std::vector<std::string> parse_folder_list(std::string_view text, const std::string &mounted_at);

} // namespace ogh::ldcache_update
