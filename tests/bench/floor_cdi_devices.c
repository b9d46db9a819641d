// SPDX-License-Identifier: Apache-2.0
//
// The floor of the cdi-devices benchmark: the system calls that it takes to read all specifications of a host and to
// give a container some nodes, in the order of the hook. It understands nothing of what it reads.
//
// Keep in step with the hook: the benchmark prints `strace -c` of both side by side. One function is one step.
//
// usage: floor-cdi-devices PID BUNDLE ROOTFS HOST CGROUP MAJOR {NAME MINOR}...  < state
//
// NAME is below /dev/cdi, there or in its folder `caps`.

#include "floor.h"
#include "floor_cgroup.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#define IN_ROOT (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)
#define MAX_NODES 64

// In .bss, so that only the pages in use count as memory.
static const char *names[MAX_NODES];
static struct device devices[MAX_NODES]; // of these names
static int node_count;
static char dirents[DIRENTS_SIZE];

static void read_arguments(int argc, char **argv)
{
    const unsigned major = (unsigned)atoi(argv[6]);
    for (int i = 7; i + 1 < argc && node_count < MAX_NODES; i += 2) {
        names[node_count] = argv[i];
        devices[node_count++] = (struct device){major, (unsigned)atoi(argv[i + 1])};
    }
}

static int open_folder(int at, const char *path)
{
    return must(openat2(at, path, O_PATH | O_DIRECTORY, IN_ROOT), path);
}

// Who owns it is looked at too.
static void read_specification(int folder, const char *name)
{
    struct stat st;
    int fd = must(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), name);
    must(fstat(fd, &st), name);
    must(fstat(fd, &st), name);
    read_to_end(fd);
    close(fd);
}

static void read_specifications(int host)
{
    struct stat st;
    long got;
    int folder = open_folder(host, "etc/cdi");
    must(fstat(folder, &st), "etc/cdi");
    int list = must(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "etc/cdi");
    while ((got = must(syscall(SYS_getdents64, list, dirents, sizeof dirents), "getdents64")) > 0) {
        struct dirent64_raw *entry;
        for (char *at = dirents; at < dirents + got; at += entry->reclen) {
            entry = (void *)at;
            if (entry->name[0] != '.')
                read_specification(folder, entry->name);
        }
    }
    close(list);
    close(folder);
    openat2(host, "var/run/cdi", O_PATH, IN_ROOT); // not there
}

static int open_cgroup(int proc, const char *pid, const char *cgroup)
{
    char path[64];
    read_file(proc, "self/mountinfo");
    snprintf(path, sizeof path, "%s/cgroup", pid);
    read_file(proc, path);
    read_file(proc, "self/cgroup");
    return must(open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC), cgroup);
}

// The host's nodes are only looked at.
static void check_nodes(int host)
{
    char path[64];
    struct statx stx;
    for (int i = 0; i < node_count; i++) {
        snprintf(path, sizeof path, "dev/cdi/%s", names[i]);
        int fd = must(openat2(host, path, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS), path);
        look_at(fd, &stx);
        close(fd);
    }
}

static void make_nodes(int root)
{
    struct statx stx;
    int dev = open_folder(root, "dev");
    look_at(dev, &stx);
    must(mkdirat(dev, "cdi", 0755), "cdi");
    int folder = must(openat2(dev, "cdi", O_PATH | O_DIRECTORY, BENEATH), "cdi");
    must(mkdirat(folder, "caps", 0755), "caps");
    for (int i = 0; i < node_count; i++) {
        mode_t before = umask(0);
        must(mknodat(folder, names[i], S_IFCHR | 0666, makedev(devices[i].major, devices[i].minor)), names[i]);
        umask(before);
    }
    close(folder);
    close(dev);
}

int main(int argc, char **argv)
{
    if (argc < 9)
        errx(2, "usage: %s PID BUNDLE ROOTFS HOST CGROUP MAJOR {NAME MINOR}...", argv[0]);
    const unsigned more = 1U << CAP_MKNOD | 1U << CAP_NET_ADMIN;
    const char *rootfs = argv[3];
    struct statx stx;

    read_arguments(argc, argv);
    begin(argv[2], more);
    int proc = must(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), "/proc");
    int host = must(open(argv[4], O_PATH | O_DIRECTORY | O_CLOEXEC), argv[4]);
    read_specifications(host);
    int init = hold(atoi(argv[1]));
    int cgroup = open_cgroup(proc, argv[1], argv[5]);
    check_nodes(host);
    enter(init, rootfs, more);
    int root = must(open(rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC), rootfs);
    look_at(root, &stx);
    allow_devices(cgroup, devices, node_count);
    make_nodes(root);
    return 0;
}
