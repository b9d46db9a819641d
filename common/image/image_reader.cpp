// SPDX-License-Identifier: Apache-2.0
#include "image/image_reader.h"

#include <fcntl.h>

#include "base/error.h"
#include "kernel/filesystem_type.h"

namespace ogh {

ImageReader::ImageReader(const RootFs &root, const ProcFs &proc, MountPolicy &mount_policy, ReadAs as,
                         const std::optional<ContainerUser> &user)
    : root_(root), proc_(proc), mount_policy_(mount_policy), as_(as)
{
    if (user)
        acting_.emplace(*user, proc);
}

std::string ImageReader::origin_obstacle(int found, const Inode &inode) const
{
    if (as_ == ReadAs::Root && !mount_policy_.is_own(inode, root_.inode()))
        return "lies in a volume";
    const auto [known, is_new] = interfaces_.try_emplace(inode.mount_id, true);
    if (is_new)
        known->second = is_kernel_interface(found);
    return known->second ? "lies on an interface of the kernel" : "";
}

std::string ImageReader::why_not_read(int found, const Inode &inode) const
{
    return inode.is(Kind::File) ? origin_obstacle(found, inode) : "is no plain file";
}

UniqueFd ImageReader::open(int found, const Inode &inode, const std::string &what) const
{
    if (const std::string why = why_not_read(found, inode); !why.empty())
        throw Error(ErrorKind::HostileContainer, what + " is not read: it " + why);
    return proc_.reopen(found, O_RDONLY, what);
}

std::vector<FolderEntry> ImageReader::list(int found, const FolderListing &listing) const
{
    const std::string why = origin_obstacle(found, Inode::of(found, listing.what));
    if (!why.empty())
        throw Error(listing.kind, listing.what + " is not read: it " + why);
    return list_folder(found, listing);
}

} // namespace ogh
