// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "kernel/mount_tree.h"
#include "kernel/private_tmpfs.h"

namespace ogh {

/** Nobody, and their group: the kernel's own numbers for what is not mapped. user_namespaces(7) */
constexpr uid_t nobody_uid = 65534;
constexpr gid_t nobody_gid = 65534;

/** Something of the host that is in a box: a device node, or a directory with some. */
struct BoxEntry {
    int source = -1;  ///< O_PATH; stays the caller's
    std::string path; ///< relative to the root of the box: "dev/null". What it lies in is made.
};

/**
 * A root for a program that is to see nothing of the host: /proc of its own PID namespace, /sys, and what it is given, all
 * read-only. Device nodes can be written to, as they cannot be protected by a mount.
 */
class ProgramBox final {
public:
    /**
     * Puts it together where only this process sees it: in a private copy of its mount namespace, and over its /proc. What
     * /proc and /sys show is of the PID and the network namespace of this process.
     * @throws SystemError
     */
    explicit ProgramBox(const std::vector<BoxEntry> &entries);

    /**
     * Makes it the root and the working directory of all processes that are in this mount namespace and had the host's.
     * The host's files are not mounted there any more: what is open or mapped stays so.
     * @throws SystemError
     */
    void close() const;

private:
    void make_directories(const std::string &path) const;
    void add(const MountTree &tree, const std::string &path) const;

    std::vector<MountTree> copies_; ///< of the entries, made before this process leaves their mount namespace
    PrivateTmpfs root_;
};

} // namespace ogh
