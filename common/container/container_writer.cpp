// SPDX-License-Identifier: Apache-2.0
#include "container/container_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "image/root_fs.h"
#include "kernel/inode.h"
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

std::string temporary_name(const std::string &name)
{
    return InnerPath{"", name}.temporary().name;
}

/** An image may have anything of that name; a directory would not be one of ours, and may have something in it. */
bool is_left_by_run(const struct stat &status, const std::optional<FsCredentials> &owner)
{
    return !S_ISDIR(status.st_mode) &&
           (status.st_uid == ::geteuid() || (owner && status.st_uid == owner->uid));
}

/** @return 0 or an error number; then there is no file. @throws SystemError if it cannot be written */
int write_new(int directory, const std::string &name, const FileEdit &file, const std::string &what,
              UniqueFd &made)
{
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    made = UniqueFd(::openat(directory, name.c_str(), flags, file.mode));
    if (!made.valid())
        return errno;
    try {
        write_all(made.get(), file.content, what);
    } catch (const Error &) {
        ::unlinkat(directory, name.c_str(), 0);
        throw;
    }
    return 0;
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
    Target target{find_in(parent, path)};
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
    Target target{find_in(parent, path)};
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
    Target target{std::move(*found)};
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

AtomicFile::AtomicFile(AtomicPlace place, const Make &make, const UniqueFd &made)
    : place_(std::move(place)), temporary_(temporary_name(place_.name))
{
    const auto [error, by_self] = make_new([&] { return make(place_.directory, temporary_); });
    if (error != 0)
        throw SystemError(error, "cannot make " + quote(place_.path) + " in the container");
    const auto [at, name] =
        made.valid() ? std::pair(made.get(), "") : std::pair(place_.directory, temporary_.c_str());
    if (by_self && ::fchownat(at, name, place_.owner->uid, place_.owner->gid,
                              AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0) {
        const int chown_error = errno;
        discard();
        throw SystemError(chown_error, "cannot give " + quote(place_.path) + " to the container's root");
    }
}

AtomicFile::~AtomicFile()
{
    discard();
}

void AtomicFile::discard() noexcept
{
    if (!temporary_.empty())
        ::unlinkat(place_.directory, temporary_.c_str(), 0);
    temporary_.clear();
}

Acted AtomicFile::make_new(const std::function<int()> &make) const
{
    const Acted made = act_for(place_.owner, make);
    if (made.error != EEXIST)
        return made;
    if (!remove_leftover(place_))
        throw Error(ErrorKind::HostileContainer, "cannot make " + quote(place_.path) +
                                                     " in the container: " + quote(temporary_) +
                                                     " beside it is none that a hook has left");
    return act_for(place_.owner, make);
}

bool AtomicFile::has_leftover(const AtomicPlace &place)
{
    struct stat there {};
    return ::fstatat(place.directory, temporary_name(place.name).c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
}

bool AtomicFile::remove_leftover(const AtomicPlace &place)
{
    const std::string name = temporary_name(place.name);
    struct stat there {};
    if (::fstatat(place.directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0)
        return true; // it is gone
    if (!is_left_by_run(there, place.owner))
        return false;
    const auto remove = [&] { return ::unlinkat(place.directory, name.c_str(), 0) == 0 ? 0 : errno; };
    if (const int error = act_for(place.owner, remove).error; error != 0 && error != ENOENT)
        throw SystemError(error, "cannot remove " + quote(name) + " beside " + quote(place.path) +
                                     " in the container");
    return true;
}

int AtomicFile::rename(unsigned flags) const
{
    const auto attempt = [&] {
        return ::renameat2(place_.directory, temporary_.c_str(), place_.directory, place_.name.c_str(),
                           flags) == 0
                   ? 0
                   : errno;
    };
    return act_for(place_.owner, attempt).error;
}

bool AtomicFile::exchange()
{
    int error = rename(RENAME_NOREPLACE);
    if (error == EEXIST && rename(RENAME_EXCHANGE) == 0) {
        struct stat there {};
        if (::fstatat(place_.directory, temporary_.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(there.st_mode))
            return false;
        change_back(); // the kernel exchanges a file for a directory, too
        error = EISDIR;
    }
    if (error == EEXIST || error == EINVAL) // EINVAL: a filesystem that does not know the flag
        error = rename(0);
    if (error != 0)
        throw SystemError(error, "cannot replace " + quote(place_.path) + " in the container");
    temporary_.clear();
    return true;
}

void AtomicFile::change_back() noexcept
{
    static_cast<void>(rename(RENAME_EXCHANGE));
}

ContainerWriter::ContainerWriter(Resolver &resolver, std::optional<FsCredentials> owner, Progress &progress)
    : resolver_(resolver), owner_(owner), progress_(progress)
{
}

Target ContainerWriter::mount_target(const InnerPath &path, Kind kind)
{
    const InnerDirectory &parent = directory(path.parent);
    // Trying to make it first saves a lookup in the usual case, and leaves no moment between look and make.
    if (parent.why_not_make.empty()) {
        if (auto made = make(parent, path, kind))
            return {std::move(*made)};
    }
    return resolver_.mount_target(parent, path, kind);
}

std::optional<Target> ContainerWriter::node_target(const InnerPath &path, const Resolver::IsRight &is_right)
{
    const InnerDirectory &parent = directory(path.parent);
    if (parent.why_not_make.empty()) {
        if (auto made = make(parent, path, Kind::File))
            return Target{std::move(*made)};
    }
    return resolver_.node_target(parent, path, is_right);
}

const InnerDirectory &ContainerWriter::directory(const std::string &path)
{
    if (const InnerDirectory *const known = resolver_.directory(path))
        return *known;
    const InnerPath inner = InnerPath::parse(path);
    const InnerDirectory &parent = directory(inner.parent);
    if (!parent.why_not_make.empty())
        throw cannot_make(path, parent.why_not_make);
    if (auto made = make(parent, inner, Kind::Directory))
        return resolver_.directory(path, std::move(*made));
    // Another hook was faster, or a symlink has the name.
    const InnerDirectory *const found = resolver_.directory(path);
    if (found == nullptr)
        throw Error(ErrorKind::HostileContainer, "cannot mount on " + quote(path) +
                                                     " in the container: it is a symlink that leads nowhere");
    return *found;
}

std::optional<UniqueFd> ContainerWriter::make(const InnerDirectory &parent, const InnerPath &path, Kind kind)
{
    auto made = make_placeholder(parent.fd.get(), path.name, kind, owner_, path.full());
    if (made)
        is_made(parent, path.name, kind);
    if (made && kind == Kind::Directory && (parent.inode.mode & S_ISGID) != 0)
        clear_setgid(made->get(), owner_, path.full()); // which the kernel passes on to directories
    return made;
}

void ContainerWriter::is_made(const InnerDirectory &parent, const std::string &name, Kind kind)
{
    // By name in a directory that is held: at worst something empty in the image goes.
    const int flags = kind == Kind::Directory ? AT_REMOVEDIR : 0;
    progress_.undo.add(
        [directory = parent.fd.get(), name, flags] { ::unlinkat(directory, name.c_str(), flags); });
}

bool ContainerWriter::has_to_make(const InnerDirectory &parent, const InnerPath &path, const Entry &entry)
{
    const std::string full = path.full();
    const std::string what = quote(full) + " in the container";
    if (const auto found = find_path(parent.fd.get(), path.name, O_PATH | O_NOFOLLOW, Walk::Beneath, what)) {
        const Inode inode = Inode::of(found->get(), what);
        if (entry.is_right(found->get(), inode)) {
            const AtomicPlace at = place(parent, path);
            if (parent.why_not_make.empty() && AtomicFile::has_leftover(at)) {
                hold_root();
                static_cast<void>(AtomicFile::remove_leftover(at));
            }
            return false;
        }
        if (inode.is(Kind::Directory))
            throw cannot_make(full, "a directory has that name");
        if (inode.mount_root)
            throw cannot_make(full, "something else is mounted there");
    }
    if (!parent.why_not_make.empty())
        throw cannot_make(full, parent.why_not_make);
    return true;
}

bool ContainerWriter::make_entry(const InnerPath &path, const Entry &entry)
{
    const InnerDirectory &parent = directory(path.parent);
    // Trying saves a lookup and a rename in the usual case. What has an owner is made as that one, or given to it.
    if (parent.why_not_make.empty() && !owner_) {
        const int error = entry.make(parent.fd.get(), path.name);
        if (error == 0) {
            is_made(parent, path.name, Kind::File);
            return true;
        }
        if (error != EEXIST)
            throw SystemError(error, "cannot make " + quote(path.full()) + " in the container");
    }
    if (!has_to_make(parent, path, entry))
        return false;
    hold_root();
    files_.push_back(std::make_unique<AtomicFile>(place(parent, path), entry.make));
    replace(*files_.back());
    return true;
}

void ContainerWriter::replace(AtomicFile &file)
{
    const AtomicPlace &place = file.place();
    if (file.exchange())
        progress_.undo.add(
            [directory = place.directory, name = place.name] { ::unlinkat(directory, name.c_str(), 0); });
    else
        progress_.undo.add([&file] { file.change_back(); });
}

AtomicPlace ContainerWriter::place(const InnerDirectory &parent, const InnerPath &path) const
{
    return {parent.fd.get(), path.name, path.full(), owner_};
}

void ContainerWriter::hold_root()
{
    constexpr useconds_t pause_us = 10'000;
    if (held_root_)
        return;
    // Containers may share a root filesystem, and none shares a directory of its own in which something may be made.
    const InnerDirectory &root = directory("/");
    UniqueFd fd(::openat(root.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        progress_.cancellation.check(
            "another process has locked the container's root: a hook of a container that "
            "has the same one, most likely");
        ::usleep(pause_us);
    }
    held_root_ = std::move(fd); // where a filesystem has no locks nobody else is believed to be there
}

AtomicFile &ContainerWriter::write(const FileEdit &file)
{
    const InnerPath path = InnerPath::parse(file.container_path);
    const InnerDirectory &parent = directory(path.parent);
    if (!parent.why_not_make.empty())
        throw cannot_make(path.full(), parent.why_not_make);
    hold_root();
    UniqueFd made;
    const auto make = [&](int directory, const std::string &name) {
        return write_new(directory, name, file, quote(path.full()) + " in the container", made);
    };
    files_.push_back(std::make_unique<AtomicFile>(place(parent, path), make, made));
    // Before a directory that was made for it.
    progress_.undo.add([written = files_.back().get()] { written->discard(); });
    return *files_.back();
}

} // namespace ogh
