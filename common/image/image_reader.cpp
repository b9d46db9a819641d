// SPDX-License-Identifier: Apache-2.0
#include "image/image_reader.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <unistd.h>
#include <linux/capability.h>

#include <cerrno>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "kernel/inode.h"
#include "kernel/process.h"

namespace ogh {

namespace {

std::uint32_t on_host(std::uint32_t id, const IdMap &map, const char *what)
{
    const auto mapped = map.outside(id);
    if (!mapped)
        throw Error(ErrorKind::Failure, std::string("the ") + what + " " + std::to_string(id) +
                                            " of the container's process has no number on this host");
    return *mapped;
}

std::vector<gid_t> current_groups()
{
    std::vector<gid_t> groups(static_cast<size_t>(std::max(::getgroups(0, nullptr), 0)));
    if (::getgroups(static_cast<int>(groups.size()), groups.data()) < 0)
        throw SystemError(errno, "cannot read this process's groups");
    return groups;
}

/** In such a user namespace nobody can give up a group, the container's process neither; user_namespaces(7). */
bool groups_are_fixed(const ProcFs &proc)
{
    constexpr size_t max_size = 16;
    return read_all(proc.open_self("setgroups").get(), max_size, "/proc/self/setgroups").starts_with("deny");
}

} // namespace

ImageReader::ImageReader(const RootFs &root, const ProcFs &proc, MountPolicy &mount_policy, ReadAs as,
                         const std::optional<ProcessUser> &user, bool keeps_groups)
    : root_(root), proc_(proc), mount_policy_(mount_policy), as_(as)
{
    if (user)
        acting_.emplace(*user, keeps_groups, proc);
}

std::string ImageReader::origin_obstacle(int found, const Inode &inode) const
{
    if (as_ == ReadAs::Root && !mount_policy_.is_own(inode, root_.inode()))
        return "lies in a volume";
    return is_kernel_interface(found) ? "lies on an interface of the kernel" : "";
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

std::vector<DirectoryEntry> ImageReader::list(int found, const DirectoryListing &listing) const
{
    const std::string why = origin_obstacle(found, Inode::of(found, listing.what));
    if (!why.empty())
        throw Error(listing.kind, listing.what + " is not read: it " + why);
    return list_directory(found, listing);
}

ProcessUser on_this_host(ProcessUser user, const std::optional<UserNamespace> &user_namespace)
{
    if (!user_namespace)
        return user;
    user.uid = on_host(user.uid, user_namespace->uids, "user");
    user.gid = on_host(user.gid, user_namespace->gids, "group");
    for (gid_t &group : user.groups)
        group = on_host(group, user_namespace->gids, "group");
    user.overrides_permissions = false;
    return user;
}

ScopedContainerUser::ScopedContainerUser(const ProcessUser &user, bool keeps_groups, const ProcFs &proc)
{
    if (!keeps_groups) {
        own_groups_ = current_groups();
        if (::setgroups(user.groups.size(), user.groups.data()) != 0) {
            if (!groups_are_fixed(proc))
                throw SystemError(errno, "cannot take the groups of the container's process");
            own_groups_.reset();
        }
    }
    ::setfsgid(user.gid); // the group first: without root's uid it may not be changed any more
    ::setfsuid(user.uid);
    set_effective(CAP_DAC_OVERRIDE, user.overrides_permissions);
    // Neither call tells whether it did anything; an id that no one can have changes nothing and returns the present.
    const bool done = ::setfsuid(static_cast<uid_t>(-1)) == static_cast<int>(user.uid) &&
                      ::setfsgid(static_cast<gid_t>(-1)) == static_cast<int>(user.gid);
    if (!done)
        throw Error(ErrorKind::Failure, "cannot act as the user of the container's process (setfsuid)");
}

ScopedContainerUser::~ScopedContainerUser()
{
    ::setfsuid(::geteuid());
    ::setfsgid(::getegid());
    set_effective(CAP_DAC_OVERRIDE, true); // last: what is effective now is what libcap-ng remembers
    if (own_groups_)
        ::setgroups(own_groups_->size(), own_groups_->data());
}

} // namespace ogh
