// SPDX-License-Identifier: Apache-2.0
#include "container/device_node.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/text.h"
#include "host/node_access.h"
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
    return S_ISDIR(mode) ? "a directory" : "no device";
}

std::optional<UniqueFd> find_host_node(const std::string &path, const std::string &what)
{
    try {
        return find_path(AT_FDCWD, path, O_PATH | O_NOFOLLOW, Walk::NoSymlinks, what);
    } catch (const SystemError &error) {
        throw error.as(ErrorKind::BrokenHost); // a symlink on the way, most likely
    }
}

/** Nothing if the host has none of that name. */
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

// Not noexec, as some bind nodes: drivers' libraries may map a device with PROT_EXEC, and nobody runs a device.
constexpr MountAttributes node_attributes = {.has_nodes = true};

/**
 * In a user namespace the engine's user has the number that this process has.
 * @param mode of the node as its driver makes it
 */
bool needs_group(const Inode &inode, mode_t mode)
{
    const mode_t others = mode & (S_IROTH | S_IWOTH);
    const mode_t owner = mode & (S_IRUSR | S_IWUSR);
    return (inode.mode & others) != others && !(inode.uid == ::geteuid() && (inode.mode & owner) == owner);
}

Error cannot_open(const std::string &what, mode_t mode, mode_t wanted)
{
    return {
        ErrorKind::BrokenHost,
        "this user may not open " + what + " in a container (mode " + mode_text(mode) +
            "); on the host, give it mode " + mode_text(wanted) +
            ", or put the user into its group ('usermod -aG GROUP USER', "
            "with "
            "the group that 'ls -l' shows, such as render) and start the container with that group (podman: "
            "--group-add keep-groups, with crun)"};
}

} // namespace

dev_t number_of(const NodeEdit &node)
{
    return makedev(node.major, node.minor);
}

int make_device_node(int directory, const std::string &name, const NodeEdit &node)
{
    const mode_t before = ::umask(0);
    const bool made = ::mknodat(directory, name.c_str(), node.type | node.mode, number_of(node)) == 0;
    int error = made ? 0 : errno;
    ::umask(before);
    if (made && node.owner != NodeOwner() &&
        ::fchownat(directory, name.c_str(), node.owner.uid, node.owner.gid, AT_SYMLINK_NOFOLLOW) != 0)
        error = errno;
    return error;
}

void check_host_nodes(const std::vector<NodeEdit> &nodes)
{
    for (const NodeEdit &node : nodes)
        open_host_node(node);
}

MountTree make_device_mount(const NodeEdit &node, const PrivateTmpfs &tmpfs, const std::string &name)
{
    const std::string what = "the device node " + quote(node.container_path);
    if (const int error = make_device_node(tmpfs.fd(), name, node); error != 0)
        throw SystemError(error, "cannot make " + what, ErrorKind::BrokenHost);
    const UniqueFd made = open_path(tmpfs.fd(), name, O_PATH | O_NOFOLLOW, Walk::OneStep, what);
    return {made.get(), node_attributes, quote(node.container_path)};
}

MountTree open_device_mount(const NodeEdit &node, bool keeps_groups)
{
    const auto fd = open_host_node(node);
    const std::string what = quote(node.host_path);
    if (!fd)
        throw Error(ErrorKind::BrokenHost,
                    "this host has no " + what +
                        ", and without the host's root no device node can be made; have the host "
                        "make it at boot");
    const Inode inode = Inode::of(fd->get(), what);
    // Asked of the kernel: the ids of a node that this user namespace has no number for cannot be compared.
    const NodeAccess access = access_of(fd->get(), node.mode);
    if (access == NodeAccess::DeniedByCgroup)
        throw Error(ErrorKind::BrokenHost,
                    obstacle_text(access, node.host_path) +
                        ", as in a batch job that has other devices; for a GPU, ask for "
                        "'allowed', which gives those that it may open");
    if (access != NodeAccess::Open || (needs_group(inode, node.mode) && !keeps_groups))
        throw cannot_open(what, inode.mode, node.mode);
    return {fd->get(), node_attributes, what};
}

} // namespace ogh
