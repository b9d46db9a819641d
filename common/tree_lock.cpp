// SPDX-License-Identifier: Apache-2.0
#include "tree_lock.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "error.h"

namespace ogh {

namespace {

void check(bool done, const char *what)
{
    if (!done)
        throw SystemError(errno, std::string("cannot lock the mounts for a user namespace (") + what + ")");
}

/** A tmpfs that only this process sees: nothing can be mounted on a detached tree before Linux 6.15. */
UniqueFd private_tmpfs()
{
    check(::unshare(CLONE_NEWNS) == 0, "unshare");
    mount_attr attr{};
    attr.propagation = MS_PRIVATE;
    check(::mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof attr) == 0, "mount_setattr");
    const UniqueFd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
    check(context.valid(), "fsopen");
    check(::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0, "fsconfig");
    UniqueFd tmpfs(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
    check(tmpfs.valid(), "fsmount");
    // /proc is there on every host, and not looked at again by path. On `/` this process would count as chrooted,
    // and may then make no user namespace.
    check(::move_mount(tmpfs.get(), "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) == 0, "move_mount");
    return tmpfs;
}

UniqueFd make_stand(int folder, const std::string &name, bool directory)
{
    const int made = directory ? ::mkdirat(folder, name.c_str(), 0700)
                               : ::mknodat(folder, name.c_str(), S_IFREG | 0600, 0);
    check(made == 0, "mkdir");
    UniqueFd stand(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    check(stand.valid(), "open");
    return stand;
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

void wait_for(pid_t child)
{
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
    check(errno == 0, "user namespace");
}

} // namespace

std::vector<MountTree> lock_trees(const std::vector<MountTree> &trees)
{
    const UniqueFd tmpfs = private_tmpfs();
    for (size_t i = 0; i < trees.size(); ++i) {
        const UniqueFd stand = make_stand(tmpfs.get(), std::to_string(i), trees[i].is_directory());
        trees[i].attach(stand.get(), "a folder for locking");
    }
    const UniqueFd result(::memfd_create("trees", MFD_CLOEXEC));
    check(result.valid(), "memfd_create");
    const long child = ::syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    check(child >= 0, "clone");
    if (child == 0)
        ::_exit(copy_in_child(tmpfs.get(), trees.size(), result.get()));
    wait_for(static_cast<pid_t>(child));
    std::vector<MountTree> locked;
    locked.reserve(trees.size());
    check(::lseek(result.get(), 0, SEEK_SET) == 0, "lseek");
    for (int fd = -1; ::read(result.get(), &fd, sizeof fd) == sizeof fd;)
        locked.emplace_back(UniqueFd(fd));
    return locked;
}

} // namespace ogh
