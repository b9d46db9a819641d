// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "image/container_view.h"

namespace ogh {

/** One of the loader's files in the image, as the plan must know it. */
struct LoaderFile {
    enum class State {
        Absent, ///< or a symlink that leads nowhere
        Plain,
        Other, ///< something that nobody should open, or too large
    };

    State state = State::Absent;
    std::string content;         ///< of a plain one
    mode_t mode = 0644;          ///< of what takes its place: for no one who may not read this one
    std::string problem;         ///< what is the matter with another one: "is no plain file"
    bool is_mount = false;       ///< something is mounted on it, so that it cannot be replaced
    std::string why_not_replace; ///< "" if its folder may be written to
};

/**
 * Reads `path` in the image; symlinks are followed inside the root, as the container's own programs would. What lies
 * in a volume is not read: ReadAs::Root.
 * @param limit in bytes; a larger file is not read
 */
LoaderFile read_loader_file(ContainerView &view, const std::string &path, size_t limit);

/** Whether the loader's files, which take folders one a line and split them at some characters, can name this one. Pure. */
bool can_be_in_loader_files(std::string_view folder);

} // namespace ogh
