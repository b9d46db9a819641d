// SPDX-License-Identifier: Apache-2.0
#include "container/injected_tree.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "container/mount_source.h"
#include "kernel/openat2.h"
#include "kernel/tmpfs.h"

namespace ogh {

namespace {

UniqueFd make_directory(int parent, const std::string &name, const std::string &what)
{
    if (::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST)
        throw SystemError(errno, "cannot make " + what);
    return open_path(parent, name, O_PATH | O_DIRECTORY, Walk::Beneath, what);
}

/** Makes the directory `path`, relative to `tmpfs`, with those above it, and opens it (O_PATH). @throws SystemError */
UniqueFd make_injected_directories(int tmpfs, std::string_view path, const std::string &what)
{
    const size_t slash = path.find('/');
    UniqueFd directory = make_directory(tmpfs, std::string(path.substr(0, slash)), what);
    return slash == std::string_view::npos
               ? std::move(directory)
               : make_injected_directories(directory.get(), path.substr(slash + 1), what);
}

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

/** Of the mount at `name` in `directory`, or, for "", of `directory` with all that is mounted below it. */
void set_attributes(int directory, const std::string &name, mount_attr attributes, const std::string &what)
{
    const unsigned flags = name.empty() ? AT_EMPTY_PATH | AT_RECURSIVE : AT_SYMLINK_NOFOLLOW;
    check(::mount_setattr(directory, name.c_str(), flags, &attributes, sizeof attributes) == 0, what,
          "mount_setattr");
}

struct Split {
    std::string directory; ///< "" for the top
    std::string name;
};

Split split(const std::string &path)
{
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos)
        return {"", path};
    return {path.substr(0, slash), path.substr(slash + 1)};
}

/** `path` taken apart, without `top`, below which it is. */
Split split_below(const std::string &path, const std::string &top)
{
    return split(path.substr(top.size() + 1));
}

} // namespace

InjectedTree::InjectedTree(const TmpfsEdit &edit, const PrivateTmpfs &place, const std::string &label)
    : container_path_(edit.container_path), top_(make_tmpfs({.label = label, .source = injected_source}))
{
    const std::string what = quote(container_path_);
    inode_ = Inode::of(top_.get(), what);
    const UniqueFd target = place.make("tree", Kind::Directory);
    check(::move_mount(top_.get(), "", target.get(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) ==
              0,
          what, "move_mount");
    for (const MountEdit &each : edit.mounts)
        mount(each);
    for (const TmpfsEdit::File &each : edit.files)
        write(each);
    for (const LinkEdit &each : edit.links)
        link(each);
    set_attributes(top_.get(), "",
                   {MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0, MS_PRIVATE, 0}, what);
    for (const MountEdit &each : edit.mounts) {
        const auto [parent, name] = split_below(each.container_path, container_path_);
        if (!each.read_only)
            set_attributes(directory(parent), name, {MOUNT_ATTR_NOEXEC, MOUNT_ATTR_RDONLY, 0, 0}, what);
    }
    tree_ = MountTree(copy_of(top_.get(), AT_RECURSIVE, what));
    directories_.clear(); // of a mount that is left behind
}

void InjectedTree::mount(const MountEdit &edit)
{
    const std::string what = quote(edit.host_path);
    const OpenedSource source = open_source(edit);
    const auto [parent, name] = split_below(edit.container_path, container_path_);
    const bool is_directory = edit.kind == Kind::Directory;
    const int at = directory(parent);
    const int made =
        is_directory ? ::mkdirat(at, name.c_str(), 0755) : ::mknodat(at, name.c_str(), S_IFREG | 0444, 0);
    check(made == 0, what, "mkdir");
    const UniqueFd copy = copy_of(source.fd.get(), is_directory ? AT_RECURSIVE : 0, what);
    check(::move_mount(copy.get(), "", at, name.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0, what, "move_mount");
}

void InjectedTree::write(const TmpfsEdit::File &file)
{
    const auto [parent, name] = split(file.path);
    write_injected_file(directory(parent), {name, file.content}, quote(container_path_ + "/" + file.path));
}

void InjectedTree::link(const LinkEdit &edit)
{
    const auto [parent, name] = split_below(edit.container_path, container_path_);
    check(::symlinkat(edit.target.c_str(), directory(parent), name.c_str()) == 0, quote(edit.container_path),
          "symlink");
}

int InjectedTree::directory(std::string_view path)
{
    if (path.empty())
        return top_.get();
    const auto known = directories_.find(path);
    if (known != directories_.end())
        return known->second.get();
    return directories_.emplace(path, make_injected_directories(top_.get(), path, quote(container_path_)))
        .first->second.get();
}

UniqueFd make_injected_target(int tmpfs, const std::string &path, Kind kind, const std::string &what)
{
    if (kind == Kind::Directory)
        return make_injected_directories(tmpfs, path, what);
    const size_t slash = path.rfind('/');
    const UniqueFd directory = make_injected_directories(tmpfs, path.substr(0, slash), what);
    const std::string name = path.substr(slash + 1);
    if (::mknodat(directory.get(), name.c_str(), S_IFREG | 0444, 0) != 0 && errno != EEXIST)
        throw SystemError(errno, "cannot make " + what);
    return open_path(directory.get(), name, O_PATH | O_NOFOLLOW, Walk::Beneath, what);
}

void write_injected_file(int tmpfs, const TmpfsEdit::File &file, const std::string &what)
{
    const UniqueFd fd(::openat(tmpfs, file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    if (!fd.valid())
        throw SystemError(errno, "cannot make " + what);
    write_all(fd.get(), file.content, what);
}

} // namespace ogh
