// SPDX-License-Identifier: Apache-2.0
#include "container/mount_steps.h"

#include "base/text.h"
#include "edits/inner_path.h"

namespace ogh {

namespace {

bool is_mounted_already(const Target &target, const MountSource &source)
{
    if (!target.existed || !target.inode.mount_root || !target.inode.same_file(source.inode))
        return false;
    return source.tree.looks_like(target.fd.get(), quote(source.edit.container_path));
}

void attach_mount(const MountSource &source, EnteredContainer &container)
{
    const InnerPath path = InnerPath::parse(source.edit.container_path);
    const std::string what = quote(source.edit.container_path);
    container.check("mounting at " + what);
    const Target target = container.writer().mount_target(path, source.edit.kind);
    if (is_mounted_already(target, source))
        return container.note(LogLevel::Debug, what + " is mounted already");
    container.attach(source.tree, source.inode, target, path);
    container.note(LogLevel::Info, "mounted " + quote(source.edit.host_path) + " at " + what +
                                       (source.edit.read_only ? ", read-only" : ", writable"));
}

} // namespace

void attach_mounts(const Edits & /*edits*/, EnteredContainer &container)
{
    for (const MountSource &source : container.sources().mounts)
        attach_mount(source, container);
}

void put_tree(const Edits &edits, EnteredContainer &container)
{
    if (!edits.tree)
        return;
    const InnerPath path = InnerPath::parse(edits.tree->container_path);
    container.check("mounting at " + quote(path.full()));
    const InjectedTree &tree = container.sources().tree.value();
    container.attach(tree.tree(), tree.inode(), container.writer().mount_target(path, Kind::Directory), path);
    container.note(LogLevel::Info, "mounted a tree of files at " + quote(path.full()));
}

void bind_files(const Edits & /*edits*/, EnteredContainer &container)
{
    for (const BindFile &file : container.sources().bind_files) {
        const InnerPath path = InnerPath::parse(file.container_path);
        container.check("mounting at " + quote(path.full()));
        container.attach(file.tree, file.inode, container.writer().mount_target(path, Kind::File), path);
        container.note(LogLevel::Info, "mounted another file over " + quote(path.full()));
    }
}

} // namespace ogh
