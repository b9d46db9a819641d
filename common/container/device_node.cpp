// SPDX-License-Identifier: Apache-2.0
#include "container/device_node.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/text.h"
#include "kernel/inode.h"
#include "kernel/openat2.h"

namespace ogh {

namespace {

std::string number_text(dev_t number)
{
    return std::to_string(major(number)) + ":" + std::to_string(minor(number));
}

std::string description(mode_t mode, dev_t number)
{
    if (S_ISCHR(mode))
        return "the character device " + number_text(number);
    if (S_ISBLK(mode))
        return "the block device " + number_text(number);
    if (S_ISFIFO(mode))
        return "a FIFO";
    if (S_ISLNK(mode))
        return "a symlink";
    return S_ISDIR(mode) ? "a folder" : "no device";
}

std::optional<UniqueFd> find_host_node(const std::string &path, const std::string &what)
{
    try {
        return find_path(AT_FDCWD, path, O_PATH | O_NOFOLLOW, Walk::NoSymlinks, what);
    } catch (const SystemError &error) {
        throw error.as(ErrorKind::BrokenHost); // a symlink on the way, most likely
    }
}

} // namespace

dev_t number_of(const NodeEdit &node)
{
    return makedev(node.major, node.minor);
}

int make_device_node(int folder, const std::string &name, const NodeEdit &node)
{
    const mode_t before = ::umask(0);
    const bool made = ::mknodat(folder, name.c_str(), node.type | node.mode, number_of(node)) == 0;
    int error = made ? 0 : errno;
    ::umask(before);
    if (made && node.owner != NodeOwner() &&
        ::fchownat(folder, name.c_str(), node.owner.uid, node.owner.gid, AT_SYMLINK_NOFOLLOW) != 0)
        error = errno;
    return error;
}

std::optional<UniqueFd> open_host_node(const NodeEdit &node)
{
    const std::string what = quote(node.host_path);
    auto found = find_host_node(node.host_path, what);
    if (!found)
        return std::nullopt;
    const Inode inode = Inode::of(found->get(), what);
    if (!inode.is_node(node.type, number_of(node)))
        throw Error(ErrorKind::BrokenHost,
                    what + " of this host is " + description(inode.mode, inode.node) + ", and not " +
                        description(node.type, number_of(node)) +
                        " that the driver has; remove it, and let the driver or udev make it");
    return found;
}

void check_host_nodes(const std::vector<NodeEdit> &nodes)
{
    for (const NodeEdit &node : nodes)
        open_host_node(node);
}

} // namespace ogh
