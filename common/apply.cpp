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

namespace ogh {

namespace {

/** A source that was opened on the host, ready to be attached. */
struct Source {
    const MountEdit &edit;
    Inode inode;
    MountTree tree;
};

Source open_source(const MountEdit &edit)
{
    const std::string what = quote(edit.host_path);
    const UniqueFd fd = open_path(AT_FDCWD, edit.host_path, O_PATH, Walk::NoSymlinks, what);
    const Inode inode = Inode::of(fd.get(), what);
    if (!inode.is(edit.kind))
        throw Error(ExitCode::Failure, what + " is no longer what it was when it was looked up");
    return {edit, inode, MountTree(fd.get(), {edit.read_only}, what)};
}

std::vector<Source> open_sources(const Edits &edits)
{
    raise_open_files_limit();
    std::vector<Source> sources;
    sources.reserve(edits.mounts.size());
    for (const MountEdit &edit : edits.mounts)
        sources.push_back(open_source(edit));
    return sources;
}

/** Whether an earlier run has put the same source there, with the same attributes. */
bool is_mounted_already(const Place &place, const Source &source)
{
    if (!place.existed || !place.inode.mount_root || !place.inode.same_file(source.inode))
        return false;
    return source.tree.looks_like(place.fd.get(), quote(source.edit.container_path));
}

void attach(const Source &source, Places &places, Notes &notes)
{
    const InnerPath path = InnerPath::parse(source.edit.container_path);
    const std::string what = quote(source.edit.container_path);
    const Place place = places.mount_target(path, source.edit.kind);
    if (is_mounted_already(place, source)) {
        notes.push_back({LogLevel::Debug, what + " is mounted already"});
        return;
    }
    source.tree.attach(place.fd.get(), what);
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
    const std::vector<Source> sources = open_sources(edits);
    Ground ground;
    init.enter(container.rootfs);
    Places places(Root(container.rootfs), std::move(ground));
    for (const Source &source : sources)
        attach(source, places, notes);
    places.keep();
    return notes;
}

} // namespace ogh
