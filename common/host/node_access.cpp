// SPDX-License-Identifier: Apache-2.0
#include "host/node_access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/text.h"

namespace ogh {

NodeAccess access_of(int fd, mode_t mode)
{
    const int wanted = (mode & (S_IWUSR | S_IWGRP | S_IWOTH)) != 0 ? R_OK | W_OK : R_OK;
    // The C library's faccessat takes no O_PATH descriptor, and may go by the mode alone.
    if (::syscall(SYS_faccessat2, fd, "", wanted, AT_EMPTY_PATH | AT_EACCESS) == 0)
        return NodeAccess::Open;
    return errno == EPERM ? NodeAccess::DeniedByCgroup : NodeAccess::DeniedByMode;
}

NodeAccess read_node_access(const Sysroot &sysroot, const std::string &path, const DeviceNumber &number,
                            mode_t mode)
{
    const auto node = sysroot.find(path);
    if (!node)
        return NodeAccess::NoNode;
    struct stat status {};
    if (::fstat(node->fd.get(), &status) != 0)
        throw SystemError(errno, "cannot look at " + quote(sysroot.on_host(path)), ErrorKind::BrokenHost);
    if (!S_ISCHR(status.st_mode) || status.st_rdev != makedev(number.major, number.minor))
        return NodeAccess::NoNode;
    return access_of(node->fd.get(), mode);
}

std::string obstacle_text(NodeAccess access, const std::string &path)
{
    switch (access) {
    case NodeAccess::Open:
        break;
    case NodeAccess::DeniedByCgroup:
        return "the device cgroup of this process does not let it open " + quote(path);
    case NodeAccess::DeniedByMode:
        return "owner and mode of " + quote(path) + " do not let this user open it";
    case NodeAccess::NoNode:
        return "the host has no such device as " + quote(path);
    }
    return "";
}

std::string why_without_node(const Sysroot &sysroot, const std::string &path)
{
    if (sysroot.find(path))
        return "";
    return "there is no " + quote(sysroot.on_host(path)) + ", and without the host's root none can be made";
}

} // namespace ogh
