// SPDX-License-Identifier: Apache-2.0
#include "container/mount_source.h"

#include <fcntl.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "kernel/openat2.h"
#include "kernel/process.h"

namespace ogh {

namespace {

MountSource copy_source(const MountEdit &edit, int idmap)
{
    const OpenedSource opened = open_source(edit);
    const MountAttributes attributes{.read_only = edit.read_only,
                                     .idmap = edit.idmap ? idmap : -1,
                                     .recursive = edit.recursive,
                                     .further = edit.attributes};
    return {edit, opened.inode, MountTree(opened.fd.get(), attributes, quote(edit.host_path))};
}

} // namespace

OpenedSource open_source(const MountEdit &edit)
{
    const std::string what = quote(edit.host_path);
    std::optional<UniqueFd> fd = find_path(AT_FDCWD, edit.host_path, O_PATH, Walk::NoSymlinks, what);
    if (!fd)
        throw Error(ErrorKind::NotAvailable, what + " has gone since it was looked up");
    const Inode inode = Inode::of(fd->get(), what);
    if (!inode.is(edit.kind))
        throw Error(ErrorKind::Failure, what + " is no longer what it was when it was looked up");
    return {std::move(*fd), inode};
}

std::vector<MountSource> open_sources(const std::vector<MountEdit> &mounts,
                                      const std::optional<UserNamespace> &user_namespace)
{
    raise_open_files_limit();
    const int idmap = user_namespace ? user_namespace->fd.get() : -1;
    std::vector<MountSource> sources;
    sources.reserve(mounts.size());
    for (const MountEdit &edit : mounts)
        sources.push_back(copy_source(edit, idmap));
    return sources;
}

Notes write_obstacles(const std::vector<MountSource> &sources, const UserNamespace &user_namespace)
{
    Notes notes;
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
    return notes;
}

} // namespace ogh
