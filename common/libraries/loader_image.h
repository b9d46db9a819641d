// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "image/container_view.h"
#include "libraries/folder_libraries.h"
#include "libraries/loader_file.h"

namespace ogh {

constexpr const char *loader_cache_path = "/etc/ld.so.cache";
constexpr const char *loader_conf_path = "/etc/ld.so.conf";
/** Named so that it is the first that an include of all files in its folder finds: its folders win. */
constexpr const char *own_loader_conf_path = "/etc/ld.so.conf.d/00-oci-gpu-hooks.conf";

/** musl's file for one machine, /etc/ld-musl-MACHINE.path: the folders that its loader searches. */
struct MuslPath {
    std::string path;
    LoaderFile file;
};

/** What the plan must know of the rootfs, and what its loaders are to find; all of it is the image author's. */
struct LoaderImage {
    bool has_glibc = false;
    LoaderFile cache; ///< these three only with glibc
    LoaderFile conf;
    LoaderFile own_conf;
    std::vector<MuslPath> musl;          ///< one for each loader of musl
    std::vector<std::string> folders;    ///< to be searched, in order
    std::vector<AddedLibrary> libraries; ///< in them
    /** Whether they are all that lie in the folders. If not, the image's entries for these folders stay. */
    bool has_all_libraries = true;
};

/**
 * Reads the loaders' files through descriptors, as the container could.
 * @param has_glibc whether the image has glibc's loader
 * @param musl_machines those of its loaders of musl
 * @return without folders and libraries
 */
LoaderImage read_loader_image(ContainerView &view, bool has_glibc,
                              const std::vector<std::string> &musl_machines);

} // namespace ogh
