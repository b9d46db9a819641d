// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "edits/edits.h"
#include "kernel/fs_credentials.h"
#include "kernel/inode.h"
#include "kernel/mount_tree.h"
#include "kernel/private_tmpfs.h"

namespace ogh {

/** A file of this collection on a tmpfs, to be mounted read-only over a file of the image. */
struct BindFile {
    std::string container_path;
    Inode inode;
    MountTree tree;
};

/**
 * Makes those of Edits::files that are mounted.
 * @param owner the container's root; nothing: this process
 * @throws SystemError
 */
std::vector<BindFile> make_bind_files(const std::vector<FileEdit> &files, const PrivateTmpfs &tmpfs,
                                      const std::optional<FsCredentials> &owner);

} // namespace ogh
