// SPDX-License-Identifier: Apache-2.0
#include "apply.h"

#include <fcntl.h>

#include <vector>

#include "error.h"
#include "init_process.h"
#include "mount_tree.h"
#include "openat2.h"
#include "places.h"
#include "process.h"
#include "text.h"
#include "tree_lock.h"

namespace ogh {

namespace {

/** A source that was opened on the host, ready to be attached. */
struct Source {
    const MountEdit &edit;
    Inode inode;
    MountTree tree;
};

Source open_source(const MountEdit &edit, int idmap)
{
    const std::string what = quote(edit.host_path);
    const UniqueFd fd = open_path(AT_FDCWD, edit.host_path, O_PATH, Walk::NoSymlinks, what);
    const Inode inode = Inode::of(fd.get(), what);
    if (!inode.is(edit.kind))
        throw Error(ExitCode::Failure, what + " is no longer what it was when it was looked up");
    const MountAttributes attributes{edit.read_only, edit.idmap ? idmap : -1};
    return {edit, inode, MountTree(fd.get(), attributes, what)};
}

/** In a user namespace the container's root could otherwise undo the attributes and uncover what lies below. */
void lock(std::vector<Source> &sources)
{
    std::vector<MountTree> trees;
    trees.reserve(sources.size());
    for (Source &source : sources)
        trees.push_back(std::move(source.tree));
    trees = lock_trees(trees);
    for (size_t i = 0; i < sources.size(); ++i)
        sources[i].tree = std::move(trees.at(i));
}

std::vector<Source> open_sources(const Edits &edits, const std::optional<UserNamespace> &user_namespace)
{
    raise_open_files_limit();
    const int idmap = user_namespace ? user_namespace->fd.get() : -1;
    std::vector<Source> sources;
    sources.reserve(edits.mounts.size());
    for (const MountEdit &edit : edits.mounts)
        sources.push_back(open_source(edit, idmap));
    if (user_namespace)
        lock(sources);
    return sources;
}

void warn_if_not_writable(const std::vector<Source> &sources, const UserNamespace &user_namespace,
                          Notes &notes)
{
    for (const auto &[edit, inode, tree] : sources) {
        if (edit.read_only || edit.idmap || user_namespace.root_may_write(inode.uid, inode.gid, inode.mode))
            continue;
        notes.push_back({LogLevel::Warning,
                         quote(edit.container_path) +
                             " is mounted writable, but the container's user namespace has "
                             "no number for its owner (uid " +
                             std::to_string(inode.uid) + ", gid " + std::to_string(inode.gid) +
                             " of the host), so that its root cannot write there; --idmap maps the owners"});
    }
}

std::optional<Owner> owner_of(const std::optional<UserNamespace> &user_namespace)
{
    if (!user_namespace || !user_namespace->uids.root() || !user_namespace->gids.root())
        return std::nullopt;
    return Owner{*user_namespace->uids.root(), *user_namespace->gids.root()};
}

/** Whether an earlier run has put the same source there, with the same attributes. */
bool is_mounted_already(const Place &place, const Source &source)
{
    if (!place.existed || !place.inode.mount_root || !place.inode.same_file(source.inode))
        return false;
    return source.tree.looks_like(place.fd.get(), quote(source.edit.container_path));
}

/** The trees that this run has attached; detached again, last first, unless they are kept. */
class Attached final {
public:
    Attached() = default;
    Attached(const Attached &) = delete;
    Attached &operator=(const Attached &) = delete;
    ~Attached()
    {
        for (auto tree = trees_.rbegin(); tree != trees_.rend(); ++tree)
            (*tree)->detach();
    }

    void add(const MountTree &tree) { trees_.push_back(&tree); }
    void keep() { trees_.clear(); }

private:
    std::vector<const MountTree *> trees_;
};

void attach(const Source &source, Places &places, Attached &attached, Notes &notes)
{
    const InnerPath path = InnerPath::parse(source.edit.container_path);
    const std::string what = quote(source.edit.container_path);
    const Place place = places.mount_target(path, source.edit.kind);
    if (is_mounted_already(place, source)) {
        notes.push_back({LogLevel::Debug, what + " is mounted already"});
        return;
    }
    source.tree.attach(place.fd.get(), what);
    attached.add(source.tree);
    // Somebody who renames in a shared volume meanwhile cannot lead the mount out of the container, but the
    // container might not see it where it was promised.
    if (!places.look(path).same_file(source.inode))
        throw Error(ExitCode::Failure, what + " in the container changed while it was mounted");
    notes.push_back({LogLevel::Info, "mounted " + quote(source.edit.host_path) + " at " + what +
                                         (source.edit.read_only ? ", read-only" : ", writable")});
}

} // namespace

Notes apply(const Edits &edits, const Container &container)
{
    Notes notes;
    if (edits.mounts.empty())
        return notes;
    const InitProcess init(container.pid);
    Ground ground(container.rootfs); // before anything is mounted, and while /proc can be seen
    const std::vector<Source> sources = open_sources(edits, init.user_namespace());
    if (init.user_namespace())
        warn_if_not_writable(sources, *init.user_namespace(), notes);
    init.enter(container.rootfs);
    Places places(Root(container.rootfs), std::move(ground), owner_of(init.user_namespace()));
    Attached attached; // goes first: a placeholder cannot be removed while it is a mount point
    for (const Source &source : sources)
        attach(source, places, attached, notes);
    attached.keep();
    places.keep();
    return notes;
}

} // namespace ogh
