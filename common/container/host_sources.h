// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/log.h"
#include "cgroup/device_cgroups.h"
#include "container/device_node.h"
#include "container/injected_tree.h"
#include "container/mount_source.h"
#include "edits/edits.h"
#include "image/container_view.h"
#include "systemd/manager_connection.h"

namespace ogh {

/** One of Edits::nodes. */
struct NodeSource {
    NodeEdit edit;
    std::optional<DeviceMount> mount; ///< nothing where the node is made in the container's /dev
};

/** A file of this collection on a tmpfs, to be mounted read-only over a file of the image. */
struct BindFile {
    std::string container_path;
    Inode inode;
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
