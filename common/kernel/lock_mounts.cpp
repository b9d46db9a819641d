// SPDX-License-Identifier: Apache-2.0
#include "kernel/lock_mounts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/error.h"
#include "kernel/child_process.h"

namespace ogh {

namespace {

constexpr const char *what_fails = "cannot lock the mounts for a user namespace";

void check_lock(bool done, const char *what)
{
    if (!done)
        throw SystemError(errno, std::string(what_fails) + " (" + what + ")");
}

/**
 * The child: copies the mount namespace into that of a new user namespace, which locks all that is in it, and
 * opens a copy of each tree. It shares the table of descriptors with its parent, and does nothing but calls
 * that need no memory.
 */
int copy_in_child(int tmpfs, size_t count, int result)
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

} // namespace

void lock_mounts(const PrivateTmpfs &tmpfs, const std::vector<MountTree *> &trees)
{
    for (size_t i = 0; i < trees.size(); ++i) {
        const Kind kind = trees[i]->is_directory() ? Kind::Directory : Kind::File;
        trees[i]->attach(tmpfs.make(std::to_string(i), kind).get(), "a folder for locking");
    }
    const UniqueFd result(::memfd_create("trees", MFD_CLOEXEC));
    check_lock(result.valid(), "memfd_create");
    const auto error =
        run_in_child(what_fails, [&] { return copy_in_child(tmpfs.fd(), trees.size(), result.get()); });
    errno = error.value_or(EINTR);
    check_lock(errno == 0, "user namespace");
    check_lock(::lseek(result.get(), 0, SEEK_SET) == 0, "lseek");
    for (MountTree *tree : trees) {
        int fd = -1;
        check_lock(::read(result.get(), &fd, sizeof fd) == sizeof fd, "read");
        *tree = MountTree(UniqueFd(fd));
    }
}

} // namespace ogh
