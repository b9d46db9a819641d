// SPDX-License-Identifier: Apache-2.0
#include "container/resolver.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "kernel/filesystem_type.h"
#include "kernel/openat2.h"

namespace ogh {

namespace {

decltype(std::declval<struct statfs>().f_type) filesystem_of(int fd, const std::string &path)
{
    struct statfs filesystem {};
    if (::fstatfs(fd, &filesystem) != 0)
        throw SystemError(errno, "cannot look at " + quote(path) + " in the container");
    return filesystem.f_type;
}

Error cannot(const char *what_to_do, const std::string &path, const std::string &why)
{
    return {ErrorKind::HostileContainer,
            std::string("cannot ") + what_to_do + " " + quote(path) + " in the container: " + why};
}

Error cannot_mount(const std::string &path, const std::string &why)
{
    return cannot("mount on", path, why);
}

} // namespace

Error cannot_make(const std::string &path, const std::string &why)
{
    return cannot("make", path, why);
}

Resolver::Resolver(EnteredRoot root, MountPolicy &mount_policy)
    : root_(std::move(root)), mount_policy_(mount_policy)
{
}

const InnerDirectory *Resolver::directory(const std::string &path)
{
    if (const auto known = directories_.find(path); known != directories_.end())
        return &known->second;
    auto found = root().find(path);
    return found ? &directory(path, std::move(*found)) : nullptr;
}

const InnerDirectory &Resolver::directory(const std::string &path, UniqueFd made)
{
    const Inode inode = Inode::of(made.get(), quote(path));
    if (!inode.is(Kind::Directory))
        throw cannot_mount(path, "it is no directory");
    const std::string obstacle = mount_policy_.why_not_make(inode, root().inode());
    return directories_.insert_or_assign(path, InnerDirectory{std::move(made), inode, obstacle})
        .first->second;
}

Target Resolver::mount_target(const InnerDirectory &parent, const InnerPath &path, Kind kind)
{
    const std::string full = path.full();
    Target target{find_in(parent, path), {}, true};
    target.inode = Inode::of(target.fd.get(), quote(full));
    if (!target.inode.is(kind))
        throw cannot_mount(full, kind == Kind::Directory ? "it is no directory" : "it is no plain file");
    if (is_kernel_interface(target.fd.get()))
        throw cannot_mount(full, "it lies on procfs, sysfs or another interface of the kernel");
    check_mountable(target, full);
    return target;
}

std::optional<Target> Resolver::node_target(const InnerDirectory &parent, const InnerPath &path,
                                            const IsRight &is_right)
{
    const bool may_make = parent.why_not_make.empty();
    const std::string full = path.full();
    Target target{find_in(parent, path), {}, true};
    target.inode = Inode::of(target.fd.get(), quote(full));
    if ((target.inode.mount_root || !may_make) && is_right(target.inode))
        return std::nullopt;
    if (!may_make)
        throw cannot_make(full, parent.why_not_make);
    if (!target.inode.is(Kind::File) && !S_ISCHR(target.inode.mode) && !S_ISBLK(target.inode.mode))
        throw cannot_mount(full, "it is neither a plain file nor a device");
    check_mountable(target, full);
    return target;
}

std::optional<Target> Resolver::proc_target(const InnerPath &path)
{
    const std::string full = path.full();
    auto found = root().find(full);
    if (!found)
        return std::nullopt;
    Target target{std::move(*found), {}, true};
    target.inode = Inode::of(target.fd.get(), quote(full));
    if (!target.inode.is(Kind::Directory))
        throw cannot_mount(full, "it is no directory");
    const bool own_tmpfs =
        target.inode.mount_id != root().inode().mount_id && mount_policy_.is_on_own_memory(target.inode);
    if (filesystem_of(target.fd.get(), full) != PROC_SUPER_MAGIC && !own_tmpfs)
        throw cannot_mount(full, "it lies neither on procfs nor on a tmpfs of the container");
    check_mountable(target, full);
    return target;
}

void Resolver::check_mountable(const Target &target, const std::string &path)
{
    if (target.inode.same_file(root().inode()))
        throw cannot_mount(path, "it is the container's root itself");
    if (target.inode.deleted)
        throw cannot_mount(path, "it has been removed");
    if (const std::string why = mount_policy_.mount_obstacle(target.inode); !why.empty())
        throw cannot_mount(path, why);
}

UniqueFd Resolver::find_in(const InnerDirectory &parent, const InnerPath &path) const
{
    const std::string what = quote(path.full()) + " in the container";
    try {
        if (auto found = find_path(parent.fd.get(), path.name, O_PATH, Walk::Beneath, what))
            return std::move(*found);
    } catch (const SystemError &error) {
        if (error.error_number() != ELOOP)
            throw;
        // A symlink of the image leads to another place inside the root; one lookup from the top finds it.
        if (auto found = root().find(path.full()))
            return std::move(*found);
        throw cannot_mount(path.full(), "it is a symlink that leads nowhere");
    }
    throw cannot_make(path.full(), parent.why_not_make.empty() ? "it vanished" : parent.why_not_make);
}

std::string Resolver::why_not_make(const std::string &path)
{
    return mount_policy_.why_not_make(path, root());
}

Inode Resolver::look(const InnerPath &path) const
{
    const std::string full = path.full();
    const auto found = root().find(full);
    if (!found)
        throw Error(ErrorKind::HostileContainer,
                    quote(full) + " vanished from the container while it was mounted");
    return Inode::of(found->get(), quote(full));
}

} // namespace ogh
