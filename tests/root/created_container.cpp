// SPDX-License-Identifier: Apache-2.0
#include "created_container.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "base/file.h"
#include "base/unique_fd.h"

namespace ogh::test {

namespace {

void pivot(const std::string &rootfs)
{
    check_call(::chdir(rootfs.c_str()), "chdir");
    check_call(::syscall(SYS_pivot_root, ".", "."), "pivot_root");
    check_call(::umount2(".", MNT_DETACH), "umount of the old root");
    check_call(::chdir("/"), "chdir");
}

/** The mount point that `path` lies below; the table is in the order of mounting, so a later line wins. */
std::string mount_point_above(const std::string &path)
{
    std::string found = "/";
    for (const Mount &mount : read_mounts()) {
        if (mount.point.size() >= found.size() && (path + "/").starts_with(mount.point + "/"))
            found = mount.point;
    }
    return found;
}

void set_up(const std::string &rootfs, const Creation &how)
{
    check_call(::unshare(CLONE_NEWNS), "unshare");
    change_mount("/", MS_REC | how.propagation);
    change_mount(mount_point_above(rootfs), MS_PRIVATE); // or the rootfs would be mounted on the host again
    make_mount(rootfs, rootfs, "", MS_BIND | MS_REC);
    if (how.set_up)
        how.set_up(rootfs);
    if (how.pivots)
        pivot(rootfs);
}

/** Becomes root of a user namespace whose map the parent writes, asked and answered by one byte. */
void become_mapped_root(int parent)
{
    check_call(::unshare(CLONE_NEWUSER), "unshare of a user namespace");
    char byte = 'm';
    check_call(::write(parent, &byte, 1), "ask for a map");
    check_call(::read(parent, &byte, 1), "wait for the map");
    check_call(::setresgid(0, 0, 0), "setresgid");
    check_call(::setresuid(0, 0, 0), "setresuid");
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); // a change of credentials has reset it
}

void write_maps(int child, pid_t pid, unsigned mapped_root)
{
    char byte = '\0';
    check_call(::read(child, &byte, 1), "wait for a user namespace");
    for (const char *name : {"/uid_map", "/gid_map"})
        std::ofstream("/proc/" + std::to_string(pid) + name) << "0 " << mapped_root << " 65536\n";
    check_call(::write(child, &byte, 1), "tell that the map is there");
}

/** What init does: says "" or what went wrong, and waits for its end. */
void run_init(const std::string &rootfs, const Creation &how, UniqueFd parent)
{
    std::string problem;
    try {
        if (how.mapped_root != 0)
            become_mapped_root(parent.get());
        set_up(rootfs, how);
    } catch (const std::exception &error) {
        problem = error.what();
    }
    static_cast<void>(::write(parent.get(), problem.data(), problem.size()) + 1);
    parent.reset();
    for (;;)
        ::pause();
}

UniqueFd open_namespace(pid_t pid, const char *name)
{
    const std::string path = "/proc/" + std::to_string(pid) + "/ns/" + name;
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    check_call(fd.get(), path);
    return fd;
}

} // namespace

CreatedContainer::CreatedContainer(std::string rootfs, const Creation &how)
    : rootfs_(std::move(rootfs)), has_user_namespace_(how.mapped_root != 0)
{
    std::array<int, 2> ends{};
    check_call(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), "socketpair");
    const UniqueFd from(ends[0]);
    UniqueFd to(ends[1]);
    init_ = std::make_unique<Child>([&] { run_init(rootfs_, how, std::move(to)); });
    to.reset();
    if (has_user_namespace_)
        write_maps(from.get(), pid(), how.mapped_root);
    const std::string problem = read_all(from.get(), 65536, "the answer of init");
    if (!problem.empty())
        throw std::runtime_error("the container cannot be made: " + problem);
    at_start_ = read_mounts(pid());
}

void CreatedContainer::end()
{
    init_->kill();
    init_->wait();
}

Mounts CreatedContainer::added() const
{
    Mounts mounts = read_mounts(pid());
    std::erase_if(mounts, [&](const Mount &mount) {
        return std::find(at_start_.begin(), at_start_.end(), mount) != at_start_.end();
    });
    return mounts;
}

Outcome CreatedContainer::inside(const Work &work) const
{
    const UniqueFd users = open_namespace(pid(), "user");
    const UniqueFd mounts = open_namespace(pid(), "mnt");
    return in_child([&] {
        if (has_user_namespace_) {
            check_call(::setns(users.get(), CLONE_NEWUSER), "setns");
            check_call(::setresgid(0, 0, 0), "setresgid");
            check_call(::setresuid(0, 0, 0), "setresuid");
        }
        check_call(::setns(mounts.get(), CLONE_NEWNS), "setns");
        check_call(::chroot(rootfs_.c_str()), "chroot");
        check_call(::chdir("/"), "chdir");
        return work();
    });
}

} // namespace ogh::test
