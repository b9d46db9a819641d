// SPDX-License-Identifier: Apache-2.0
#include "install/install_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/text.h"

namespace ogh::admin {

namespace {

constexpr const char *lock_file = "lock";

UniqueFd open_install_lock(int folder, const std::string &path)
{
    UniqueFd fd(::openat(folder, lock_file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                         S_IRUSR | S_IWUSR));
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0)
        throw SystemError(errno, "cannot open " + quote(path), ErrorKind::BrokenHost);
    if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || status.st_nlink != 1 ||
        (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        throw Error(ErrorKind::BrokenHost,
                    quote(path) +
                        " is no plain file that only root can open, and so others may hold it: remove it");
    return fd;
}

} // namespace

UniqueFd take_install_lock(int folder, const std::string &path)
{
    const std::string file = path + "/" + lock_file;
    UniqueFd fd = open_install_lock(folder, file);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK)
            throw SystemError(errno, "cannot lock " + quote(file), ErrorKind::BrokenHost);
        throw Error(ErrorKind::Busy, "another 'oci-gpu-hooks install', 'uninstall' or 'unwrap' is at work");
    }
    return fd;
}

} // namespace ogh::admin
