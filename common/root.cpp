// SPDX-License-Identifier: Apache-2.0
#include "root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <linux/stat.h>

#include <algorithm>
#include <cerrno>

#include "error.h"
#include "openat2.h"
#include "text.h"

namespace ogh {

Inode Inode::of(int fd, const std::string &what)
{
    struct statx status {};
    const unsigned wanted =
        STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID | STATX_INO | STATX_NLINK | STATX_SIZE | STATX_MNT_ID;
    if (::statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, wanted, &status) != 0)
        throw SystemError(errno, "cannot look at " + what);
    if ((status.stx_mask & wanted) != wanted || (status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0)
        throw Error(ExitCode::Host, "the kernel does not tell mount ids (Linux 5.12 is needed)");
    Inode inode;
    inode.device = makedev(status.stx_dev_major, status.stx_dev_minor);
    inode.number = status.stx_ino;
    inode.mount_id = status.stx_mnt_id;
    inode.size = status.stx_size;
    inode.node = makedev(status.stx_rdev_major, status.stx_rdev_minor);
    inode.mode = status.stx_mode;
    inode.uid = status.stx_uid;
    inode.gid = status.stx_gid;
    inode.mount_root = (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    inode.deleted = status.stx_nlink == 0;
    return inode;
}

bool Inode::is(Kind kind) const
{
    switch (kind) {
    case Kind::Directory:
        return S_ISDIR(mode);
    case Kind::File:
        return S_ISREG(mode);
    case Kind::Socket:
        return S_ISSOCK(mode);
    }
    return false;
}

bool Inode::same_file(const Inode &other) const
{
    return device == other.device && number == other.number;
}

bool Inode::is_node(dev_t device_number) const
{
    return S_ISCHR(mode) && node == device_number;
}

InnerPath InnerPath::parse(const std::string &path)
{
    const auto refused = [&](const char *why) {
        return Error(ExitCode::Usage, "the path " + quote(path) + " in the container " + why);
    };
    if (!path.starts_with('/') || path.find('\0') != std::string::npos)
        throw refused("is not absolute");
    InnerPath inner{"", ""};
    for (size_t start = 1; start <= path.size();) {
        const size_t end = std::min(path.find('/', start), path.size());
        const std::string name = path.substr(start, end - start);
        if (name.empty() || name == "." || name == "..")
            throw refused("has an empty component, '.' or '..'");
        if (!inner.name.empty())
            (inner.parent += '/') += inner.name;
        inner.name = name;
        start = end + 1;
    }
    if (inner.name.empty())
        throw refused("is the root itself");
    if (inner.parent.empty())
        inner.parent = "/";
    return inner;
}

std::string InnerPath::full() const
{
    return parent == "/" ? "/" + name : parent + "/" + name;
}

Root::Root(UniqueFd fd) : fd_(std::move(fd)), inode_(Inode::of(fd_.get(), "the container's root")) {}

std::optional<UniqueFd> Root::find(const std::string &path) const
{
    return find_path(fd_.get(), path, O_PATH, Walk::InRoot, quote(path) + " in the container");
}

namespace {

/** @return 0 or an error number. mknod makes a file without opening it; neither call follows a symlink. */
int make(int parent, const std::string &name, Kind kind)
{
    const int result = kind == Kind::Directory ? ::mkdirat(parent, name.c_str(), 0755)
                                               : ::mknodat(parent, name.c_str(), S_IFREG | 0644, 0);
    return result == 0 ? 0 : errno;
}

} // namespace

std::optional<UniqueFd> make_placeholder(int parent, const std::string &name, Kind kind,
                                         const std::optional<Owner> &owner, const std::string &path)
{
    const auto [error, give] = act_for(owner, [&] { return make(parent, name, kind); });
    if (error == EEXIST)
        return std::nullopt;
    if (error != 0)
        throw SystemError(error, "cannot make " + quote(path) + " in the container");
    UniqueFd made = open_path(parent, name, O_PATH, Walk::OneStep, quote(path) + " in the container");
    if (give && ::fchownat(made.get(), "", owner->uid, owner->gid, AT_EMPTY_PATH) != 0)
        throw SystemError(errno, "cannot give " + quote(path) + " to the container's root");
    return made;
}

void clear_setgid(int folder, const std::optional<Owner> &owner, const std::string &path)
{
    std::optional<ActAs> other; // only the owner may change a mode
    if (owner)
        other.emplace(*owner);
    // A descriptor of O_PATH cannot take a new mode before Linux 6.6.
    const UniqueFd opened(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened.valid() || ::fchmod(opened.get(), 0755) != 0)
        throw SystemError(errno, "cannot set the mode of " + quote(path) + " in the container");
}

} // namespace ogh
