// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/unique_fd.h"
#include "cgroup/device_cgroups.h"
#include "container/device_node.h"
#include "edits/edits.h"
#include "image/container_view.h"
#include "kernel/inode.h"
#include "kernel/mount_tree.h"
#include "kernel/tmpfs.h"
#include "kernel/user_namespace.h"
#include "systemd/manager_connection.h"

namespace ogh {

/**
 * Edits::tree in the making: a tmpfs with files of the host mounted in it, put together before the container
 * is entered, so that it appears there whole or not at all.
 */
class InjectedTree final {
public:
    /**
     * Makes the tmpfs and all that is in it: read-only, nosuid, nodev; mounts that say that they
     * are writable are noexec instead.
     * @param place where it is put together; takes the name "tree"
     * @param label see TmpfsOptions
     * @throws Error
     */
    InjectedTree(const TmpfsEdit &edit, const PrivateTmpfs &place, const std::string &label);

    /** What is attached in the container; locked in a user namespace. */
    [[nodiscard]] MountTree &tree() { return tree_; }
    [[nodiscard]] const MountTree &tree() const { return tree_; }

private:
    void mount(const MountEdit &edit);
    void write(const TmpfsEdit::File &file);
    void link(const LinkEdit &edit);
    int directory(const std::string &path); ///< in the container

    std::string container_path_;
    UniqueFd top_;                                ///< of the tmpfs, where it is put together
    std::map<std::string, UniqueFd> directories_; ///< made in it, by their paths in the container
    MountTree tree_{UniqueFd()};
};

// What is made in a tmpfs of this collection, which is writable for nobody else.

/**
 * Makes what something is to be mounted over, a directory or an empty file, with the directories above it, and opens it (O_PATH);
 * what is there already will do.
 * @param path relative to `tmpfs`; a file's has a directory
 * @throws SystemError
 */
UniqueFd make_injected_target(int tmpfs, const std::string &path, Kind kind, const std::string &what);

/** Makes a plain file for everyone to read, in a directory that exists. @throws SystemError */
void write_injected_file(int tmpfs, const TmpfsEdit::File &file, const std::string &what);

/** What is brought along from the host, opened there and ready to be attached in the container. */
struct MountSource {
    MountEdit edit;
    MountTree tree;
};

/** One of Edits::nodes. */
struct NodeSource {
    NodeEdit edit;
    std::optional<MountTree> mount; ///< nothing where the node is made in the container's /dev
};

/** A file of this collection on a tmpfs, to be mounted read-only over a file of the image. */
struct BindFile {
    std::string container_path;
    MountTree tree;
};

/** Edits::proc. */
struct ProcSource {
    TmpfsEdit edit;
    std::vector<MountSource> mounts;
    MountTree tmpfs; ///< empty as yet: nothing can be mounted on it while it is detached, before Linux 6.15
};

/**
 * What edits need of the host, opened there. Inside a container the host's files are out of reach, so a container is
 * entered with these and not with the edits' paths.
 */
struct HostSources {
    std::vector<MountSource> mounts = {};
    std::vector<NodeSource> nodes = {};
    std::optional<InjectedTree> tree = {};
    std::optional<ProcSource> proc = {};
    std::vector<BindFile> bind_files = {};
    std::optional<DeviceCgroups> cgroups = {}; ///< the container's own; nothing if there are no nodes
    std::optional<ManagerConnection> systemd =
        {};           ///< to whom a scope of the container belongs, if it has one
    Notes notes = {}; ///< what is worth saying about them in this container
};

/**
 * Opens them all. In a user namespace the mounts are locked: otherwise the container's root could undo their
 * attributes, and uncover what lies below them.
 * @throws Error
 */
HostSources open_host_sources(const Edits &edits, ContainerView &view);

} // namespace ogh
