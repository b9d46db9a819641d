// SPDX-License-Identifier: Apache-2.0
#include "kernel/lock_mounts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "base/error.h"

namespace ogh {

namespace {

void check_lock(bool done, const char *what)
{
    if (!done)
        throw SystemError(errno, std::string("cannot lock the mounts for a user namespace (") + what + ")");
}

/**
 * The child: copies the mount namespace into that of a new user namespace, which locks all that is in it, and
 * opens a copy of each tree. It shares the table of descriptors with its parent, and does nothing but calls
 * that need no memory.
 */
int copy_trees(int tmpfs, size_t count, int result) noexcept
{
    // The working directory is taken along into the new namespace; a descriptor would stay with the old one.
    if (::fchdir(tmpfs) != 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return errno;
    for (size_t i = 0; i < count; ++i) {
        const std::string name = std::to_string(i);
        const int tree =
            ::open_tree(AT_FDCWD, name.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
        if (tree < 0 || ::write(result, &tree, sizeof tree) != sizeof tree)
            return errno;
    }
    return 0;
}

/** @return the error number of what has failed, 0 for nothing */
int copy_in_child(int tmpfs, size_t count, int result)
{
    const long child = ::syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    check_lock(child >= 0, "clone");
    if (child == 0)
        ::_exit(copy_trees(tmpfs, count, result));
    int status = 0;
    while (::waitpid(static_cast<pid_t>(child), &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

} // namespace

void lock_mounts(const PrivateTmpfs &tmpfs, const std::vector<MountTree *> &trees)
{
    for (size_t i = 0; i < trees.size(); ++i) {
        const Kind kind = trees[i]->is_directory() ? Kind::Directory : Kind::File;
        trees[i]->attach(tmpfs.make(std::to_string(i), kind).get(), "a directory for locking");
    }
    const UniqueFd result(::memfd_create("trees", MFD_CLOEXEC));
    check_lock(result.valid(), "memfd_create");
    errno = copy_in_child(tmpfs.fd(), trees.size(), result.get());
    check_lock(errno == 0, "user namespace");
    check_lock(::lseek(result.get(), 0, SEEK_SET) == 0, "lseek");
    for (MountTree *tree : trees) {
        int fd = -1;
        check_lock(::read(result.get(), &fd, sizeof fd) == sizeof fd, "read");
        *tree = MountTree(UniqueFd(fd));
    }
}

} // namespace ogh
