// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "host/sysroot.h"
#include "kernel/inode.h"

namespace ogh::mount_srv {

/** An entry of the source directory that has a name which may be asked for. */
struct Directory {
    std::string name;
    std::string host_path; ///< canonical: symlinks are followed; with the sysroot in front
    Kind kind = Kind::Directory;
    std::string problem; ///< why it cannot be handed out; "" if it can
    ErrorKind problem_kind = ErrorKind::None;

    bool operator==(const Directory &) const = default;
};

/** What this host offers. */
struct Inventory {
    std::string source_dir;
    bool exists = false;                ///< whether there is a source directory at all
    std::vector<Directory> directories; ///< sorted by name
};

/** Whether containers may write to the directory of this name: it contains `_writable` or ends in `_rw`. */
bool is_writable_name(const std::string &name);

/**
 * Lists `source_dir` below the sysroot: directories, plain files, and symlinks to either; nothing whose name begins
 * with a dot. A symlink whose way leads through a directory that containers may write gets a problem: they could
 * point it at anything.
 * @throws Error if the directory exists and cannot be read
 */
Inventory read_inventory(const Sysroot &sysroot, const std::string &source_dir);

/** @throws Error (NotAvailable) if there is no source directory */
void require_source(const Inventory &inventory);

} // namespace ogh::mount_srv
