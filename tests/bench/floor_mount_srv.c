// SPDX-License-Identifier: Apache-2.0
//
// The floor of the mount-srv benchmark: the system calls that mount-srv makes for an empty target
// folder and the value `all`, in the same order, and next to nothing in between. It parses nothing
// and compares nothing; what the hook learns from its input comes from the command line. The only
// thing looked at is whether a call failed, because a floor that skips its work measures nothing.
//
// Keep in step with the hook: the benchmark prints `strace -c` of both side by side. One function
// is one step; the two that run once per folder are clone_source() and attach().
//
// usage: floor-mount-srv PID BUNDLE ROOTFS SOURCE-DIR TARGET-DIR  < state

#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FOLDERS 4096
#define DIRENTS_SIZE 32768  // what readdir(3) asks for at once

struct dirent64_raw {
    unsigned long ino;
    long off;
    unsigned short reclen;
    unsigned char type;
    char name[];
};

struct folder {
    const char *name;
    int tree;
    struct statx source;
};

// In .bss, so that only the pages in use count as memory.
static struct folder folders[MAX_FOLDERS];
static char dirents[32 * DIRENTS_SIZE];
static char scratch[1 << 20];

static int must(long result, const char *what)
{
    if (result < 0)
        err(1, "%s", what);
    return (int)result;
}

static int openat2(int at, const char *path, unsigned long flags, unsigned long resolve)
{
    struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
    return (int)syscall(SYS_openat2, at, path, &how, sizeof how);
}

static void read_to_end(int fd)
{
    while (must(read(fd, scratch, sizeof scratch), "read") > 0)
        ;
}

static void read_file(int at, const char *path)
{
    int fd = must(openat(at, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), path);
    read_to_end(fd);
    close(fd);
}

static void look_at(int fd, struct statx *found)
{
    const unsigned wanted = STATX_TYPE | STATX_MODE | STATX_INO | STATX_NLINK | STATX_MNT_ID;
    must(statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, wanted, found), "statx");
}

static void clean_process(void)
{
    for (int fd = 0; fd < 3; fd++)
        must(fcntl(fd, F_GETFD), "fcntl");
    must((long)close_range(3, ~0U, 0), "close_range");
    must(chdir("/"), "chdir");
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    must(sigprocmask(SIG_SETMASK, &none, NULL), "sigprocmask");
    umask(022);
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "PR_SET_DUMPABLE");
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
}

static void limit_capabilities(__u32 kept)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{.effective = kept, .permitted = kept}};
    must(syscall(SYS_capset, &header, data), "capset");
}

static void empty_bounding_set(void)
{
    for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++)
        must(prctl(PR_CAPBSET_DROP, cap, 0, 0, 0), "PR_CAPBSET_DROP");
}

static void raise_open_files(void)
{
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    must(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

static int list_folders(int source_dir)
{
    int count = 0;
    char *at = dirents;
    long got;
    while ((got = must(syscall(SYS_getdents64, source_dir, at, DIRENTS_SIZE), "getdents64")) > 0) {
        for (char *end = at + got; at < end;) {
            struct dirent64_raw *entry = (void *)at;
            at += entry->reclen;
            if (entry->name[0] == '.')
                continue;
            if (count == MAX_FOLDERS || at + DIRENTS_SIZE > dirents + sizeof dirents)
                errx(1, "too many folders");
            folders[count++].name = entry->name;
        }
    }
    return count;
}

// Once per folder, on the host.
static void clone_source(int source_dir, struct folder *folder)
{
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
        .propagation = MS_PRIVATE,
    };
    int fd = must(openat2(source_dir, folder->name, O_PATH, RESOLVE_NO_SYMLINKS), folder->name);
    look_at(fd, &folder->source);
    folder->tree = must(open_tree(fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | AT_RECURSIVE | OPEN_TREE_CLOEXEC),
                "open_tree");
    must(mount_setattr(folder->tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr), "mount_setattr");
    close(fd);
}

static void enter(pid_t pid, const char *rootfs)
{
    const __u32 to_enter = 1U << CAP_SYS_ADMIN | 1U << CAP_SYS_CHROOT | 1U << CAP_SYS_PTRACE;
    char path[64];
    struct stat st;
    limit_capabilities(to_enter | 1U << CAP_DAC_OVERRIDE);
    int pidfd = must(syscall(SYS_pidfd_open, pid, 0), "pidfd_open");
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", pid);
    must(stat(path, &st), path);
    must(stat("/proc/self/ns/mnt", &st), "/proc/self/ns/mnt");
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    must(poll(&ended, 1, 0), "poll");
    must(stat(rootfs, &st), rootfs);
    must(setns(pidfd, CLONE_NEWNS), "setns");
    limit_capabilities(1U << CAP_SYS_ADMIN | 1U << CAP_DAC_OVERRIDE);
    must(stat(rootfs, &st), rootfs);
    close(pidfd);
}

// The target folder's mount is looked up in the container's mount table.
static int open_target(int proc, const char *rootfs, const char *target)
{
    struct statx stx;
    int root = must(open(rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC), rootfs);
    look_at(root, &stx);
    int dir = must(openat2(root, target, O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS), target);
    look_at(dir, &stx);
    read_file(proc, "self/mountinfo");
    return dir;
}

// Once per folder, in the container.
static void attach(int target_dir, const struct folder *folder)
{
    const unsigned long beneath = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    const unsigned long inside = beneath | RESOLVE_NO_XDEV;
    struct statx stx;
    must(mkdirat(target_dir, folder->name, 0755), "mkdirat");
    int place = must(openat2(target_dir, folder->name, O_PATH | O_DIRECTORY | O_NOFOLLOW, inside), folder->name);
    must(move_mount(folder->tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH), "move_mount");
    int seen = must(openat2(target_dir, folder->name, O_PATH | O_NOFOLLOW, beneath), folder->name);
    look_at(seen, &stx);
    close(seen);
    close(place);
    close(folder->tree);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        errx(2, "usage: %s PID BUNDLE ROOTFS SOURCE-DIR TARGET-DIR", argv[0]);
    pid_t pid = atoi(argv[1]);

    clean_process();
    empty_bounding_set();
    read_to_end(STDIN_FILENO);
    int bundle = must(openat2(AT_FDCWD, argv[2], O_PATH | O_DIRECTORY, 0), argv[2]);
    read_file(bundle, "config.json");
    close(bundle);
    int proc = must(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), "/proc");

    int source_dir = must(openat2(AT_FDCWD, argv[4], O_RDONLY | O_DIRECTORY, 0), argv[4]);
    int count = list_folders(source_dir);
    raise_open_files();
    for (int i = 0; i < count; i++)
        clone_source(source_dir, &folders[i]);
    close(source_dir);

    enter(pid, argv[3]);
    int target_dir = open_target(proc, argv[3], argv[5]);
    for (int i = 0; i < count; i++)
        attach(target_dir, &folders[i]);
    return 0;
}
