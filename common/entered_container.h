// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "blank_file.h"
#include "device_cgroups.h"
#include "edits.h"
#include "host_proc.h"
#include "init_process.h"
#include "log.h"
#include "node_source.h"
#include "own_tree.h"
#include "places.h"
#include "source.h"

namespace ogh {

/** The container that is being created, as its state and config.json name it. */
struct Container {
    pid_t pid = 0;
    std::string rootfs = {};       ///< absolute on the host
    std::string mount_label = {};  ///< linux.mountLabel
    std::string cgroups_path = {}; ///< linux.cgroupsPath
    bool keeps_groups = false;     ///< its processes keep the groups of the engine's user (crun, keep-groups)
};

/**
 * A container that this process has entered, once and for good. What is needed of the host is opened before:
 * inside, the host's files are out of reach.
 */
class EnteredContainer final {
public:
    /**
     * Opens what `edits` need of the host, and enters. In a user namespace the folders that are brought along are
     * locked: otherwise the container's root could undo the attributes, and uncover what lies below a mount.
     * @throws Error
     */
    EnteredContainer(const Container &container, const Edits &edits);

    /** Those of Edits::mounts. */
    [[nodiscard]] const std::vector<Source> &sources() const { return sources_; }

    /** Those of Edits::nodes; nothing where nodes are made. */
    [[nodiscard]] const std::vector<NodeSource> &node_sources() const { return node_sources_; }

    /** Those of Edits::proc. */
    [[nodiscard]] const std::vector<Source> &proc_sources() const { return proc_sources_; }

    /** That of Edits::tree. */
    [[nodiscard]] const std::optional<OwnTree> &own_tree() const { return own_tree_; }

    /** Whether nodes are made in the container's /dev, and not mounted there. */
    [[nodiscard]] bool may_make_nodes() const { return may_make_nodes_; }

    /** The container's own; nothing if the edits have no nodes. */
    [[nodiscard]] std::optional<DeviceCgroups> &device_cgroups() { return device_cgroups_; }

    /** linux.mountLabel */
    [[nodiscard]] const std::string &mount_label() const { return mount_label_; }

    /** Files of our own, to be filled and mounted in this container. @throws Error */
    [[nodiscard]] std::vector<BlankFile> make_blank_files(size_t count) const;

    [[nodiscard]] const HostProc &proc() const { return proc_; }
    [[nodiscard]] const Root &root() const { return places_->root(); }
    [[nodiscard]] Places &places() { return *places_; }

    /** As Ground::mounts_of(). */
    [[nodiscard]] std::vector<InnerMount> mounts_of(const std::string &source)
    {
        return places_->ground().mounts_of(source, root().inode());
    }

    /** What is worth saying about the sources in this container. */
    [[nodiscard]] const Notes &notes() const { return notes_; }

private:
    void bring_along(const Edits &edits, bool keeps_groups);
    void lock(const std::optional<PrivateTmpfs> &tmpfs);
    void bring_nodes(const std::vector<NodeEdit> &nodes, bool keeps_groups);

    HostProc proc_;
    InitProcess init_;
    std::optional<DeviceCgroups> device_cgroups_;
    std::vector<Source> sources_;
    std::vector<Source> proc_sources_;
    std::vector<NodeSource> node_sources_;
    std::optional<OwnTree> own_tree_;
    bool may_make_nodes_ = true;
    std::string mount_label_;
    Notes notes_;
    std::optional<Places> places_;
};

} // namespace ogh
