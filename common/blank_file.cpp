// SPDX-License-Identifier: Apache-2.0
#include "blank_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "error.h"
#include "file.h"

namespace ogh {

namespace {

constexpr const char *what = "a file of our own";

UniqueFd open_for_writing(const PrivateTmpfs &tmpfs, const std::string &name,
                          const std::optional<Owner> &owner)
{
    UniqueFd fd(::openat(tmpfs.fd(), name.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid() || (owner && ::fchown(fd.get(), owner->uid, owner->gid) != 0))
        throw SystemError(errno, std::string("cannot open ") + what);
    return fd;
}

} // namespace

BlankFile::BlankFile(const PrivateTmpfs &tmpfs, const std::string &name, const std::optional<Owner> &owner)
    : tree_(tmpfs.make(name, Kind::File).get(), MountAttributes{.read_only = true}, what)
{
    fd_ = open_for_writing(tmpfs, name, owner);
    inode_ = Inode::of(fd_.get(), what);
}

void BlankFile::fill(std::string_view content, const std::string &name) const
{
    write_all(fd_.get(), content, name);
}

} // namespace ogh
