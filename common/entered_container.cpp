// SPDX-License-Identifier: Apache-2.0
#include "entered_container.h"

#include "private_tmpfs.h"
#include "tree_lock.h"

namespace ogh {

namespace {

std::optional<Owner> owner_of(const std::optional<UserNamespace> &user_namespace)
{
    if (!user_namespace || !user_namespace->uids.root() || !user_namespace->gids.root())
        return std::nullopt;
    return Owner{*user_namespace->uids.root(), *user_namespace->gids.root()};
}

} // namespace

EnteredContainer::EnteredContainer(const Container &container, const std::vector<MountEdit> &mounts)
    : init_(container.pid), mount_label_(container.mount_label)
{
    Ground ground(proc_, container.rootfs); // before anything is mounted, and while /proc can be seen
    bring_along(mounts);
    init_.enter(container.rootfs);
    places_.emplace(Root(container.rootfs), std::move(ground), owner_of(init_.user_namespace()));
}

void EnteredContainer::bring_along(const std::vector<MountEdit> &mounts)
{
    const auto &user_namespace = init_.user_namespace();
    sources_ = open_sources(mounts, user_namespace);
    if (!user_namespace || sources_.empty())
        return;
    notes_ = why_not_writable(sources_, *user_namespace);
    std::vector<MountTree *> trees;
    trees.reserve(sources_.size());
    for (Source &source : sources_)
        trees.push_back(&source.tree);
    lock_trees(PrivateTmpfs(""), trees);
}

std::vector<BlankFile> EnteredContainer::make_blank_files(size_t count) const
{
    const auto &user_namespace = init_.user_namespace();
    return ogh::make_blank_files({count, owner_of(user_namespace), mount_label_, user_namespace.has_value()});
}

} // namespace ogh
