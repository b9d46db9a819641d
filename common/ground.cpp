// SPDX-License-Identifier: Apache-2.0
#include "ground.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include <cerrno>

#include "error.h"
#include "text.h"

namespace ogh {

namespace {

UniqueFd open_mountinfo(int proc)
{
    UniqueFd fd(::openat(proc, "self/mountinfo", O_RDONLY | O_CLOEXEC));
    if (!fd.valid())
        throw SystemError(errno, "cannot open /proc/self/mountinfo", ExitCode::Host);
    return fd;
}

} // namespace

Ground::Ground(std::string rootfs)
    : rootfs_(std::move(rootfs)), proc_(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC))
{
    struct statfs filesystem {};
    if (!proc_.valid() || ::fstatfs(proc_.get(), &filesystem) != 0 || filesystem.f_type != PROC_SUPER_MAGIC)
        throw Error(ExitCode::Host, "/proc of the host is no procfs");
    // Opened now it shows the host's namespace whenever it is read.
    host_mountinfo_ = open_mountinfo(proc_.get());
}

const MountTable &Ground::inside()
{
    if (!inside_)
        inside_.emplace(open_mountinfo(proc_.get()).get());
    return *inside_;
}

std::string Ground::mount_point(const Inode &inode)
{
    const std::string path = inside().mount_point(inode.mount_id);
    if (!path.starts_with(rootfs_))
        return "on the host";
    return path == rootfs_ ? "its root" : quote(std::string_view(path).substr(rootfs_.size()));
}

bool Ground::is_on_host(const Inode &inode)
{
    const auto device = inside().device_of(inode.mount_id);
    return !device || MountTable(host_mountinfo_.get()).has_device(*device);
}

std::string Ground::why_not_make_in(const Inode &folder, const Inode &root)
{
    if (folder.mount_id != root.mount_id && is_on_host(folder))
        return "it would lie in a volume (" + mount_point(folder) +
               "), where nothing is made; make it in the volume, or leave the volume out";
    return why_not_mount_on(folder);
}

std::string Ground::why_not_mount_on(const Inode &target)
{
    if (!inside().device_of(target.mount_id))
        return "it lies in what has been mounted since the container's mounts were looked at";
    const auto [known, is_new] = shared_.try_emplace(target.mount_id, false);
    if (is_new)
        known->second = inside().is_shared(target.mount_id);
    if (!known->second)
        return "";
    return "it lies on a shared mount (" + mount_point(target) +
           "), so that a mount would appear on the host too; make that volume private or slave";
}

} // namespace ogh
