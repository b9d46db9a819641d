// SPDX-License-Identifier: Apache-2.0
#include "container/places.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
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
    return {ExitCode::Failure,
            std::string("cannot ") + what_to_do + " " + quote(path) + " in the container: " + why};
}

Error cannot_mount(const std::string &path, const std::string &why)
{
    return cannot("mount on", path, why);
}

} // namespace

Places::Places(RootFs root, MountPolicy &mount_policy, std::optional<FsCredentials> owner)
    : root_(std::move(root)), mount_policy_(mount_policy), owner_(owner)
{
}

Places::~Places()
{
    written_.clear(); // a folder that was made for them cannot be removed before
    // By name in a folder that is held: at worst something empty in the image goes. Errors have no reader here.
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
        const int flags = made->kind == Kind::Directory ? AT_REMOVEDIR : 0;
        ::unlinkat(made->parent->fd.get(), made->name.c_str(), flags);
    }
}

Place Places::mount_target(const InnerPath &path, Kind kind)
{
    const SharedFolder parent = folder(path.parent);
    // Trying to make it first saves a lookup in the usual case, and leaves no moment between look and make.
    if (parent->make_obstacle.empty()) {
        if (auto made = make(parent, path, kind))
            return {std::move(*made), parent->inode, false};
    }
    const std::string full = path.full();
    Place place{find_in(*parent, path), {}, true};
    place.inode = Inode::of(place.fd.get(), quote(full));
    if (!place.inode.is(kind))
        throw cannot_mount(full, kind == Kind::Directory ? "it is no folder" : "it is no plain file");
    if (is_kernel_interface(place.fd.get()))
        throw cannot_mount(full, "it lies on procfs, sysfs or another interface of the kernel");
    check_mountable(place, full);
    return place;
}

std::optional<Place> Places::node_target(const InnerPath &path, const IsRight &is_right)
{
    const SharedFolder parent = folder(path.parent);
    const bool may_make = parent->make_obstacle.empty();
    if (may_make) {
        if (auto made = make(parent, path, Kind::File))
            return Place{std::move(*made), parent->inode, false};
    }
    const std::string full = path.full();
    Place place{find_in(*parent, path), {}, true};
    place.inode = Inode::of(place.fd.get(), quote(full));
    if ((place.inode.mount_root || !may_make) && is_right(place.inode))
        return std::nullopt;
    if (!may_make)
        throw cannot("make", full, parent->make_obstacle);
    if (!place.inode.is(Kind::File) && !S_ISCHR(place.inode.mode) && !S_ISBLK(place.inode.mode))
        throw cannot_mount(full, "it is neither a plain file nor a device");
    check_mountable(place, full);
    return place;
}

std::optional<Place> Places::proc_target(const InnerPath &path)
{
    const std::string full = path.full();
    auto found = root_.find(full);
    if (!found)
        return std::nullopt;
    Place place{std::move(*found), {}, true};
    place.inode = Inode::of(place.fd.get(), quote(full));
    if (!place.inode.is(Kind::Directory))
        throw cannot_mount(full, "it is no folder");
    const bool own_tmpfs =
        place.inode.mount_id != root_.inode().mount_id && mount_policy_.is_on_own_memory(place.inode);
    if (filesystem_of(place.fd.get(), full) != PROC_SUPER_MAGIC && !own_tmpfs)
        throw cannot_mount(full, "it lies neither on procfs nor on a tmpfs of the container");
    check_mountable(place, full);
    return place;
}

void Places::check_mountable(const Place &place, const std::string &path)
{
    if (place.inode.same_file(root_.inode()))
        throw cannot_mount(path, "it is the container's root itself");
    if (place.inode.deleted)
        throw cannot_mount(path, "it has been removed");
    if (const std::string why = mount_policy_.mount_obstacle(place.inode); !why.empty())
        throw cannot_mount(path, why);
}

UniqueFd Places::find_in(const Folder &parent, const InnerPath &path) const
{
    const std::string what = quote(path.full()) + " in the container";
    try {
        if (auto found = find_path(parent.fd.get(), path.name, O_PATH, Walk::Beneath, what))
            return std::move(*found);
    } catch (const SystemError &error) {
        if (error.error_number() != ELOOP)
            throw;
        // A symlink of the image leads to another place inside the root; one lookup from the top finds it.
        if (auto found = root_.find(path.full()))
            return std::move(*found);
        throw cannot_mount(path.full(), "it is a symlink that leads nowhere");
    }
    throw cannot("make", path.full(), parent.make_obstacle.empty() ? "it vanished" : parent.make_obstacle);
}

Places::SharedFolder Places::folder(const std::string &path)
{
    if (const auto known = folders_.find(path); known != folders_.end())
        return known->second;
    auto opened = root_.find(path);
    if (!opened) {
        const InnerPath inner = InnerPath::parse(path);
        const SharedFolder parent = folder(inner.parent);
        if (!parent->make_obstacle.empty())
            throw cannot("make", path, parent->make_obstacle);
        opened = make(parent, inner, Kind::Directory);
        if (!opened) // another hook was faster, or a symlink has the name
            opened = root_.find(path);
        if (!opened)
            throw cannot_mount(path, "it is a symlink that leads nowhere");
    }
    const Inode inode = Inode::of(opened->get(), quote(path));
    if (!inode.is(Kind::Directory))
        throw cannot_mount(path, "it is no folder");
    const std::string why = mount_policy_.make_obstacle(inode, root_.inode());
    return folders_[path] = std::make_shared<const Folder>(Folder{std::move(*opened), inode, why});
}

std::optional<UniqueFd> Places::make(const SharedFolder &parent, const InnerPath &path, Kind kind)
{
    auto made = make_placeholder(parent->fd.get(), path.name, kind, owner_, path.full());
    if (made)
        made_.push_back({parent, path.name, kind});
    if (made && kind == Kind::Directory && (parent->inode.mode & S_ISGID) != 0)
        clear_setgid(made->get(), owner_, path.full()); // which the kernel passes on to folders
    return made;
}

bool Places::make_entry(const InnerPath &path, const Entry &entry)
{
    const SharedFolder parent = folder(path.parent);
    const std::string full = path.full();
    const std::string what = quote(full) + " in the container";
    // Trying saves a lookup and a rename in the usual case. What has an owner is made as that one, or given to it.
    if (parent->make_obstacle.empty() && !owner_) {
        const int error = entry.make(parent->fd.get(), path.name);
        if (error == 0) {
            made_.push_back({parent, path.name, Kind::File});
            return true;
        }
        if (error != EEXIST)
            throw SystemError(error, "cannot make " + what);
    }
    if (const auto found = find_path(parent->fd.get(), path.name, O_PATH | O_NOFOLLOW, Walk::Beneath, what)) {
        const Inode inode = Inode::of(found->get(), what);
        if (entry.is_right(found->get(), inode))
            return false;
        if (inode.is(Kind::Directory))
            throw cannot("make", full, "a folder has that name");
        if (inode.mount_root)
            throw cannot("make", full, "something else is mounted there");
    }
    if (!parent->make_obstacle.empty())
        throw cannot("make", full, parent->make_obstacle);
    AtomicFile file(parent->fd.get(), entry.make, owner_, full);
    file.place(path.name);
    made_.push_back(
        {parent, path.name, Kind::File}); // also where it replaced something: no node stays after a failure
    return true;
}

void Places::write(const FileEdit &file)
{
    const InnerPath path = InnerPath::parse(file.container_path);
    const SharedFolder parent = folder(path.parent);
    if (!parent->make_obstacle.empty())
        throw cannot("make", path.full(), parent->make_obstacle);
    auto made = std::make_unique<AtomicFile>(parent->fd.get(), file.content, file.mode, owner_, path.full());
    written_.push_back({parent, path.name, std::move(made)});
}

void Places::replace()
{
    for (const Written &written : written_) {
        if (written.file->place(written.name))
            made_.push_back({written.parent, written.name, Kind::File});
    }
    written_.clear();
}

std::string Places::make_obstacle(const std::string &path)
{
    return mount_policy_.make_obstacle(path, root_);
}

Inode Places::look(const InnerPath &path) const
{
    const std::string what = quote(path.full());
    const auto found = root_.find(path.full());
    if (!found)
        throw Error(ExitCode::Failure, what + " vanished from the container while it was mounted");
    return Inode::of(found->get(), what);
}

} // namespace ogh
