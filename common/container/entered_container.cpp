// SPDX-License-Identifier: Apache-2.0
#include "container/entered_container.h"

#include <linux/capability.h>

#include "container/device_node.h"
#include "kernel/lock_mounts.h"
#include "kernel/private_tmpfs.h"
#include "kernel/process.h"

namespace ogh {

namespace {

std::optional<FsCredentials> owner_of(const std::optional<UserNamespace> &user_namespace)
{
    if (!user_namespace || !user_namespace->uids.root() || !user_namespace->gids.root())
        return std::nullopt;
    return FsCredentials{*user_namespace->uids.root(), *user_namespace->gids.root()};
}

} // namespace

EnteredContainer::EnteredContainer(ContainerView &view, const Edits &edits) : view_(view)
{
    const Container &container = view.container();
    if (!edits.nodes.empty())
        device_cgroups_.emplace(view.proc(), container.pid, container.cgroups_path);
    bring_along(edits);
    RootFs root(view.init().enter(container.rootfs));
    places_.emplace(std::move(root), view.mount_policy(), owner_of(view.init().user_namespace()));
}

void EnteredContainer::bring_along(const Edits &edits)
{
    const auto &user_namespace = view_.init().user_namespace();
    sources_ = open_sources(edits.mounts, user_namespace);
    if (edits.proc)
        proc_sources_ = open_sources(edits.proc->mounts, std::nullopt);
    bring_nodes(edits.nodes);
    std::optional<PrivateTmpfs> tmpfs; // covers /proc
    if (edits.tree || (user_namespace && (!sources_.empty() || !edits.nodes.empty())))
        tmpfs.emplace(mount_label());
    if (user_namespace && tmpfs && device_mounts_.empty())
        device_mounts_ = make_device_mounts(edits.nodes, *tmpfs, owner_of(user_namespace));
    if (edits.tree)
        injected_tree_.emplace(*edits.tree, *tmpfs, mount_label());
    if (user_namespace) {
        notes_ = write_obstacles(sources_, *user_namespace);
        lock(tmpfs);
    }
}

void EnteredContainer::lock(const std::optional<PrivateTmpfs> &tmpfs)
{
    // What covers /proc is not among them: the container's root can take it away as a whole anyway, and what there is
    // in it belongs to the host's root.
    std::vector<MountTree *> trees;
    trees.reserve(sources_.size() + 1);
    for (MountSource &source : sources_)
        trees.push_back(&source.tree);
    if (injected_tree_)
        trees.push_back(&injected_tree_->tree());
    if (!trees.empty())
        lock_mounts(*tmpfs, trees);
}

void EnteredContainer::bring_nodes(const std::vector<NodeEdit> &nodes)
{
    if (nodes.empty())
        return;
    const bool as_host = in_initial_user_namespace();
    may_make_nodes_ = as_host && !view_.init().user_namespace();
    if (!as_host) {
        device_mounts_ = open_device_mounts(nodes, view_.container().keeps_groups);
        return;
    }
    require_capabilities({CAP_MKNOD}, "making device nodes");
    check_host_nodes(nodes);
}

std::vector<OverlayFile> EnteredContainer::make_overlay_files(const std::vector<mode_t> &modes) const
{
    const auto &user_namespace = view_.init().user_namespace();
    return ogh::make_overlay_files(
        {modes, owner_of(user_namespace), mount_label(), user_namespace.has_value()});
}

} // namespace ogh
