// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "image/container_view.h"
#include "ldcache-update/library_request.h"
#include "libraries/loader_image.h"

namespace ogh::ldcache_update {

/**
 * Reads the image through descriptors, as the container could.
 * @param notes files that are left out
 * @throws Error if a folder that was asked for is not there, or may not be read
 */
LoaderImage read_image(ContainerView &view, const LibraryRequest &request, Notes &notes);

} // namespace ogh::ldcache_update
