// SPDX-License-Identifier: Apache-2.0
#include "image/root_fs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.h"
#include "base/text.h"
#include "kernel/openat2.h"

namespace ogh {

RootFs::RootFs(UniqueFd fd) : fd_(std::move(fd)), inode_(Inode::of(fd_.get(), "the container's root")) {}

std::optional<UniqueFd> RootFs::find(const std::string &path) const
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
                                         const std::optional<FsCredentials> &owner, const std::string &path)
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

void clear_setgid(int directory, const std::optional<FsCredentials> &owner, const std::string &path)
{
    std::optional<ScopedFsCredentials> other; // only the owner may change a mode
    if (owner)
        other.emplace(*owner);
    // A descriptor of O_PATH cannot take a new mode before Linux 6.6.
    const UniqueFd opened(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened.valid() || ::fchmod(opened.get(), 0755) != 0)
        throw SystemError(errno, "cannot set the mode of " + quote(path) + " in the container");
}

} // namespace ogh
