// SPDX-License-Identifier: Apache-2.0
#include "image/mount_policy.h"

#include "base/contains.h"
#include "base/text.h"
#include "edits/inner_path.h"

namespace ogh {

MountPolicy::MountPolicy(const ProcFs &proc, pid_t pid, std::string rootfs)
    : rootfs_(std::move(rootfs)), host_(proc.open_self("mountinfo").get()),
      inside_(proc.open_of(pid, "mountinfo").get())
{
}

std::string MountPolicy::mount_point(const Inode &inode)
{
    const std::string path = inside_.find(inode.mount_id).point;
    if (!path.starts_with(rootfs_))
        return "on the host";
    return path == rootfs_ ? "its root" : quote(std::string_view(path).substr(rootfs_.size()));
}

std::vector<InnerMount> MountPolicy::mounts_of(const std::string &source, const Inode &root)
{
    // Runtimes bind the rootfs on itself; the table has its path without the symlinks that config.json may have.
    const std::string prefix = (root.mount_root ? inside_.find(root.mount_id).point : rootfs_) + "/";
    std::vector<InnerMount> mounts;
    for (const std::uint64_t id : inside_.ids_of_source(source)) {
        const std::string path = inside_.find(id).point;
        if (path.starts_with(prefix))
            mounts.push_back({id, path.substr(prefix.size() - 1)});
    }
    return mounts;
}

bool MountPolicy::is_on(const std::string &source, const Inode &inode)
{
    return contains(inside_.ids_of_source(source), inode.mount_id);
}

bool MountPolicy::is_on_host(const Inode &inode)
{
    const MountLine mount = inside_.find(inode.mount_id);
    return !mount.is_listed || host_.has_device(mount.filesystem);
}

bool MountPolicy::is_on_own_memory(const Inode &inode)
{
    const std::string type = inside_.find(inode.mount_id).type;
    return (type == "tmpfs" || type == "ramfs") && !is_on_host(inode);
}

bool MountPolicy::is_own(const Inode &inode, const Inode &root)
{
    return inode.mount_id == root.mount_id || is_on_own_memory(inode);
}

std::string MountPolicy::why_not_make(const std::string &path, const RootFs &root)
{
    const auto opened = root.find(path);
    if (!opened)
        return why_not_make(InnerPath::parse(path).parent, root);
    return why_not_make(Inode::of(opened->get(), quote(path)), root.inode());
}

std::string MountPolicy::why_not_make(const Inode &directory, const Inode &root)
{
    if (!is_own(directory, root))
        return "it would lie in a volume (" + mount_point(directory) +
               "), where nothing is made; make it in the volume, or leave the volume out";
    // What config.json asks to be read-only becomes so after the hooks alone.
    if (inside_.find(directory.mount_id).is_read_only)
        return "its filesystem is read-only; make it in the image";
    return mount_obstacle(directory);
}

std::string MountPolicy::mount_obstacle(const Inode &target)
{
    const MountLine mount = inside_.find(target.mount_id);
    if (!mount.is_listed)
        return "it lies in what has been mounted since the container's mounts were looked at";
    if (!mount.is_shared)
        return "";
    return "it lies on a shared mount (" + mount_point(target) +
           "), so that a mount would appear on the host too; make that volume private or slave";
}

} // namespace ogh
