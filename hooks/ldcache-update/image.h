// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "image/container_view.h"
#include "ldcache-update/folder_libraries.h"
#include "ldcache-update/image_file.h"
#include "ldcache-update/library_request.h"

namespace ogh::ldcache_update {

constexpr const char *cache_path = "/etc/ld.so.cache";
constexpr const char *conf_path = "/etc/ld.so.conf";
/** Named so that it is the first that an include of all files in its folder finds: its folders win. */
constexpr const char *own_conf_path = "/etc/ld.so.conf.d/00-oci-gpu-hooks.conf";

/** musl's file for one machine, /etc/ld-musl-MACHINE.path: the folders that its loader searches. */
struct MuslPath {
    std::string path;
    ImageFile file;
};

/** What the plan must know of the rootfs; all of it is the image author's. */
struct Image {
    bool has_glibc = false;
    ImageFile cache; ///< these three only with glibc
    ImageFile conf;
    ImageFile own_conf;
    std::vector<MuslPath> musl;          ///< one for each loader of musl
    std::vector<std::string> folders;    ///< to be searched, in order
    std::vector<AddedLibrary> libraries; ///< in them
};

/**
 * Reads the image through descriptors, as the container could.
 * @param notes files that are left out
 * @throws Error if a folder that was asked for is not there, or may not be read
 */
Image read_image(ContainerView &view, const LibraryRequest &request, Notes &notes);

} // namespace ogh::ldcache_update
