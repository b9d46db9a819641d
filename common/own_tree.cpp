// SPDX-License-Identifier: Apache-2.0
#include "own_tree.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "error.h"
#include "openat2.h"
#include "own_files.h"
#include "text.h"
#include "tmpfs.h"

namespace ogh {

namespace {

void check(bool done, const std::string &what, const char *call)
{
    if (!done)
        throw SystemError(errno, "cannot put together " + what + " (" + call + ")");
}

UniqueFd copy_of(int place, unsigned flags, const std::string &what)
{
    UniqueFd copy(::open_tree(place, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags));
    check(copy.valid(), what, "open_tree");
    return copy;
}

/** @param flags AT_RECURSIVE, or 0 */
void set_attributes(int place, const char *name, const mount_attr &attributes, unsigned flags,
                    const std::string &what)
{
    mount_attr attr = attributes;
    const unsigned empty = *name == '\0' ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW;
    check(::mount_setattr(place, name, flags | empty, &attr, sizeof attr) == 0, what, "mount_setattr");
}

/** `path` without `top`, below which it is. */
std::string below(const std::string &path, const std::string &top)
{
    return path.substr(top.size() + 1);
}

struct Split {
    std::string_view folder; ///< "" for the top
    std::string name;
};

Split split(std::string_view path)
{
    const size_t slash = path.rfind('/');
    if (slash == std::string_view::npos)
        return {"", std::string(path)};
    return {path.substr(0, slash), std::string(path.substr(slash + 1))};
}

} // namespace

OwnTree::OwnTree(const TmpfsEdit &edit, const PrivateTmpfs &place, const std::string &label)
    : container_path_(edit.container_path)
{
    const std::string what = quote(container_path_);
    attached_ = make_tmpfs({.label = label, .source = own_source});
    inode_ = Inode::of(attached_.get(), what);
    MountTree(UniqueFd(::fcntl(attached_.get(), F_DUPFD_CLOEXEC, 0)))
        .attach(place.make("tree", Kind::Directory).get(), what);
    writable_ = copy_of(attached_.get(), 0, what);
    for (const MountEdit &each : edit.mounts)
        mount(each);
    const mount_attr locked{MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0, MS_PRIVATE, 0};
    set_attributes(attached_.get(), "", locked, AT_RECURSIVE, what);
    for (const MountEdit &each : edit.mounts) {
        const std::string path = below(each.container_path, container_path_);
        const auto [parent, name] = split(path);
        if (!each.read_only)
            set_attributes(folder(attached_.get(), parent), name.c_str(), {0, MOUNT_ATTR_RDONLY, 0, 0}, 0,
                           what);
    }
    tree_ = MountTree(copy_of(attached_.get(), AT_RECURSIVE, what));
    folders_.clear(); // those of the mount that is left behind
}

void OwnTree::mount(const MountEdit &edit)
{
    const std::string what = quote(edit.host_path);
    const UniqueFd source = open_path(AT_FDCWD, edit.host_path, O_PATH, Walk::NoSymlinks, what);
    if (!Inode::of(source.get(), what).is(edit.kind))
        throw Error(ExitCode::Failure, what + " is no longer what it was when it was looked up");
    const std::string path = below(edit.container_path, container_path_);
    const auto [parent, name] = split(path);
    const bool is_folder = edit.kind == Kind::Directory;
    const int at = folder(attached_.get(), parent);
    const int made =
        is_folder ? ::mkdirat(at, name.c_str(), 0755) : ::mknodat(at, name.c_str(), S_IFREG | 0444, 0);
    check(made == 0, what, "mkdir");
    const UniqueFd copy = copy_of(source.get(), is_folder ? AT_RECURSIVE : 0, what);
    check(::move_mount(copy.get(), "", at, name.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0, what, "move_mount");
}

int OwnTree::folder(int top, std::string_view path)
{
    if (path.empty())
        return top;
    const auto known = folders_.find(path);
    if (known != folders_.end())
        return known->second.get();
    return folders_.emplace(path, make_own_folders(top, path, quote(container_path_))).first->second.get();
}

void OwnTree::fill(const TmpfsEdit &edit)
{
    const std::string what = quote(container_path_);
    for (const TmpfsEdit::File &file : edit.files) {
        const auto [parent, name] = split(file.path);
        write_own_file(folder(writable_.get(), parent), {name, file.content}, what);
    }
    for (const LinkEdit &link : edit.links) {
        const std::string path = below(link.container_path, container_path_);
        const auto [parent, name] = split(path);
        check(::symlinkat(link.target.c_str(), folder(writable_.get(), parent), name.c_str()) == 0, what,
              "symlink");
    }
}

} // namespace ogh
