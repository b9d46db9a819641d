// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "image/container_view.h"
#include "libraries/directory_libraries.h"

namespace ogh {

/** One of the loader's files in the image, as the plan must know it. */
struct LoaderFile {
    enum class State {
        Absent, ///< or a symlink that leads nowhere
        Plain,
        Other, ///< something that nobody should open, or too large
    };

    State state = State::Absent;
    std::string content;       ///< of a plain one
    mode_t mode = 0644;        ///< of what takes its place: for no one who may not read this one
    std::string problem;       ///< what is the matter with another one: "is no plain file"
    bool has_leftover = false; ///< beside it is what a run has left that was killed
    std::string
        why_not_replace; ///< "" if it can be: nothing is mounted on it, and its directory may be written to
};

/**
 * Reads `path` in the image; symlinks are followed inside the root, as the container's own programs would. What lies
 * in a volume is not read: ReadAs::Root.
 * @param limit in bytes; a larger file is not read
 */
LoaderFile read_loader_file(ContainerView &view, const std::string &path, size_t limit);

/** Whether the loader's files, which take directories one a line and split them at some characters, can name this one. Pure. */
bool can_be_in_loader_files(std::string_view directory);

constexpr const char *loader_cache_path = "/etc/ld.so.cache";
constexpr const char *loader_conf_path = "/etc/ld.so.conf";
/** Named so that it is the first that an include of all files in its directory finds: its directories win. */
constexpr const char *own_loader_conf_path = "/etc/ld.so.conf.d/00-oci-gpu-hooks.conf";

/** musl's file for one machine, /etc/ld-musl-MACHINE.path: the directories that its loader searches. */
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
    std::vector<MuslPath> musl;             ///< one for each loader of musl
    std::vector<std::string> without_cache; ///< whose programs read no such cache, see places_without_cache()
    std::string library_path;               ///< LD_LIBRARY_PATH of the container's process
    std::vector<std::string> directories;   ///< to be searched, in order
    std::vector<AddedLibrary> libraries;    ///< in them
    /** Whether they are all that lie in the directories. If not, the image's entries for these directories stay. */
    bool has_all_libraries = true;
};

/**
 * Reads which loaders there are, and their files, through descriptors, as the container could.
 * @return without directories and libraries
 */
LoaderImage read_loader_image(ContainerView &view);

} // namespace ogh
