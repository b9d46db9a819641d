// SPDX-License-Identifier: Apache-2.0
#include "entered_container.h"

#include "error.h"
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

EnteredContainer::EnteredContainer(const Container &container, const std::vector<MountEdit> &mounts,
                                   size_t blank_files)
    : init_(container.pid)
{
    Ground ground(proc_, container.rootfs); // before anything is mounted, and while /proc can be seen
    bring_along(container, mounts, blank_files);
    init_.enter(container.rootfs);
    places_.emplace(Root(container.rootfs), std::move(ground), owner_of(init_.user_namespace()));
}

void EnteredContainer::bring_along(const Container &container, const std::vector<MountEdit> &mounts,
                                   size_t blank_files)
{
    const auto &user_namespace = init_.user_namespace();
    sources_ = open_sources(mounts, user_namespace);
    if (user_namespace)
        notes_ = why_not_writable(sources_, *user_namespace);
    if (blank_files == 0 && !user_namespace)
        return;
    const PrivateTmpfs tmpfs(container.mount_label);
    blank_files_.reserve(blank_files);
    for (size_t i = 0; i < blank_files; ++i)
        blank_files_.emplace_back(tmpfs, "blank" + std::to_string(i), owner_of(user_namespace));
    if (!user_namespace)
        return;
    std::vector<MountTree *> trees;
    for (Source &source : sources_)
        trees.push_back(&source.tree);
    for (BlankFile &file : blank_files_)
        trees.push_back(&file.tree());
    lock_trees(tmpfs, trees);
}

BlankFile &EnteredContainer::take_blank_file()
{
    if (blank_files_taken_ == blank_files_.size())
        throw Error(ExitCode::Failure, "more files are to be mounted than were brought along");
    return blank_files_[blank_files_taken_++];
}

} // namespace ogh
