// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "cgroup/device_cgroups.h"
#include "container/device_mount.h"
#include "container/injected_tree.h"
#include "container/mount_source.h"
#include "container/overlay_file.h"
#include "container/places.h"
#include "edits/edits.h"
#include "image/container_view.h"

namespace ogh {

/**
 * A container that this process has entered, once and for good. What is needed of the host is opened before:
 * inside, the host's files are out of reach.
 */
class EnteredContainer final {
public:
    /**
     * Opens what `edits` need of the host, and enters. In a user namespace the folders that are brought along are
     * locked: otherwise the container's root could undo the attributes, and uncover what lies below a mount.
     * @param view outlives this
     * @throws Error
     */
    EnteredContainer(ContainerView &view, const Edits &edits);

    /** Those of Edits::mounts. */
    [[nodiscard]] const std::vector<MountSource> &sources() const { return sources_; }

    /** Those of Edits::nodes; nothing where nodes are made. */
    [[nodiscard]] const std::vector<DeviceMount> &device_mounts() const { return device_mounts_; }

    /** Those of Edits::proc. */
    [[nodiscard]] const std::vector<MountSource> &proc_sources() const { return proc_sources_; }

    /** That of Edits::tree. */
    [[nodiscard]] const std::optional<InjectedTree> &injected_tree() const { return injected_tree_; }

    /** Whether nodes are made in the container's /dev, and not mounted there. */
    [[nodiscard]] bool may_make_nodes() const { return may_make_nodes_; }

    /** The container's own; nothing if the edits have no nodes. */
    [[nodiscard]] std::optional<DeviceCgroups> &device_cgroups() { return device_cgroups_; }

    /** linux.mountLabel */
    [[nodiscard]] const std::string &mount_label() const { return view_.container().mount_label; }

    /** Files of our own with these modes, to be filled and mounted in this container. @throws Error */
    [[nodiscard]] std::vector<OverlayFile> make_overlay_files(const std::vector<mode_t> &modes) const;

    [[nodiscard]] const ProcFs &proc() const { return view_.proc(); }
    [[nodiscard]] const RootFs &root() const { return places_->root(); }
    [[nodiscard]] Places &places() { return *places_; }

    /** As MountPolicy::mounts_of(). */
    [[nodiscard]] std::vector<InnerMount> mounts_of(const std::string &source)
    {
        return view_.mount_policy().mounts_of(source, root().inode());
    }

    /** What is worth saying about the sources in this container. */
    [[nodiscard]] const Notes &notes() const { return notes_; }

private:
    void bring_along(const Edits &edits);
    void lock(const std::optional<PrivateTmpfs> &tmpfs);
    void bring_nodes(const std::vector<NodeEdit> &nodes);

    ContainerView &view_;
    std::optional<DeviceCgroups> device_cgroups_;
    std::vector<MountSource> sources_;
    std::vector<MountSource> proc_sources_;
    std::vector<DeviceMount> device_mounts_;
    std::optional<InjectedTree> injected_tree_;
    bool may_make_nodes_ = true;
    Notes notes_;
    std::optional<Places> places_;
};

} // namespace ogh
