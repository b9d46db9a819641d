// SPDX-License-Identifier: Apache-2.0
#include "container/bind_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/openat2.h"

namespace ogh {

namespace {

BindFile make(const FileEdit &edit, const PrivateTmpfs &tmpfs, const std::string &name,
              const std::optional<FsCredentials> &owner)
{
    const std::string what = "the file for " + quote(edit.container_path);
    const UniqueFd fd(
        ::openat(tmpfs.fd(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd.valid() || ::fchmod(fd.get(), edit.mode) != 0 ||
        (owner && ::fchown(fd.get(), owner->uid, owner->gid) != 0))
        throw SystemError(errno, "cannot make " + what);
    write_all(fd.get(), edit.content, what);
    const UniqueFd place = open_path(tmpfs.fd(), name, O_PATH | O_NOFOLLOW, Walk::OneStep, what);
    return {edit.container_path, Inode::of(place.get(), what),
            MountTree(place.get(), {.read_only = true}, what)};
}

} // namespace

std::vector<BindFile> make_bind_files(const std::vector<FileEdit> &files, const PrivateTmpfs &tmpfs,
                                      const std::optional<FsCredentials> &owner)
{
    std::vector<BindFile> made;
    for (const FileEdit &edit : files) {
        if (edit.how == FileEdit::How::MountOver)
            made.push_back(make(edit, tmpfs, "bind" + std::to_string(made.size()), owner));
    }
    return made;
}

} // namespace ogh
