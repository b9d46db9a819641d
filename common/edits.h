// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "root.h"

namespace ogh {

/** One folder or file of the host that a container gets to see. */
struct MountEdit {
    std::string host_path;      ///< absolute, without symlinks; as this process names it
    std::string container_path; ///< absolute inside the container
    Kind kind = Kind::Directory;
    bool read_only = true;
    bool idmap = false; ///< in a user namespace, map the owners of the files into it

    bool operator==(const MountEdit &) const = default;
};

/** A file of the container whose content is ours. */
struct FileEdit {
    enum class How {
        Replace,   ///< take the name, by rename
        MountOver, ///< leave the file as it is, and mount ours over it, read-only
    };

    std::string container_path; ///< absolute inside the container
    std::string content;
    How how = How::Replace;

    bool operator==(const FileEdit &) const = default;
};

/** What is to be done to a container; a plain value, in the words of CDI's containerEdits. */
struct Edits {
    std::vector<MountEdit> mounts = {};
    std::vector<FileEdit> files = {}; ///< those that replace others do so in this order, after all mounts

    bool operator==(const Edits &) const = default;
};

/**
 * The edits as JSON for --plan, with the member names of the Container Device Interface specification,
 * "containerEdits"; files, which it does not know, beside it, with their content where that is text. Bytes of a path that are not UTF-8 are written as \xNN.
 */
std::string to_json(const Edits &edits);

} // namespace ogh
