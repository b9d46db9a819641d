// SPDX-License-Identifier: Apache-2.0
//
// The floor of the cdi-devices benchmark: the system calls that it takes to read all specifications of a host and to
// give a container what one device has, in the order of the hook. It understands nothing of what it reads.
//
// Keep in step with the hook: the benchmark prints `strace -c` of both side by side. One function is one step.
//
// usage: floor-cdi-devices PID BUNDLE ROOTFS HOST CGROUP MAJOR {node PATH MINOR|mount PATH SOURCE|link PATH TARGET}...
//                          < state
//
// A PATH is in the container, and of a node on the host too; a SOURCE is a file of the host. None begins with a slash.

#include "floor.h"
#include "floor_cgroup.h"

#include <linux/capability.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#define IN_ROOT (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)
#define MAX_THINGS 512
#define MAX_DIRECTORIES 16

struct thing {
    char kind; // the first letter
    const char *path, *what;
    int tree; // of a mount: what is to be mounted
};

// In .bss, so that only the pages in use count as memory.
static struct thing things[MAX_THINGS];
static int thing_count;
static struct device devices[MAX_THINGS];
static int device_count;
static struct {
    char path[256];
    int fd;
} directories[MAX_DIRECTORIES]; // of the container
static int directory_count;
static char dirents[DIRENTS_SIZE];

static void add_device(struct device device)
{
    for (int i = 0; i < device_count; i++)
        if (devices[i].minor == device.minor)
            return; // a node of two names
    devices[device_count++] = device;
}

static void read_arguments(int argc, char **argv)
{
    const unsigned major = (unsigned)atoi(argv[6]);
    for (int i = 7; i + 2 < argc && thing_count < MAX_THINGS; i += 3) {
        things[thing_count++] = (struct thing){argv[i][0], argv[i + 1], argv[i + 2], -1};
        if (argv[i][0] == 'n')
            add_device((struct device){major, (unsigned)atoi(argv[i + 2])});
    }
}

static int open_directory(int at, const char *path)
{
    return must(openat2(at, path, O_PATH | O_DIRECTORY, IN_ROOT), path);
}

// Who owns it is looked at too.
static void read_specification(int directory, const char *name)
{
    struct stat st;
    int fd = must(openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), name);
    must(fstat(fd, &st), name);
    must(fstat(fd, &st), name);
    read_to_end(fd);
    close(fd);
}

static void read_specifications(int host)
{
    struct stat st;
    long got;
    int directory = open_directory(host, "etc/cdi");
    must(fstat(directory, &st), "etc/cdi");
    int list = must(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "etc/cdi");
    while ((got = must(syscall(SYS_getdents64, list, dirents, sizeof dirents), "getdents64")) > 0) {
        struct dirent64_raw *entry;
        for (char *at = dirents; at < dirents + got; at += entry->reclen) {
            entry = (void *)at;
            if (entry->name[0] != '.')
                read_specification(directory, entry->name);
        }
    }
    close(list);
    close(directory);
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

// What is on the host is looked at before anything is done.
static void check_host(int host)
{
    struct stat st;
    for (int i = 0; i < thing_count; i++) {
        if (things[i].kind == 'l')
            continue;
        const char *path = things[i].kind == 'm' ? things[i].what : things[i].path;
        int fd = must(openat2(host, path, O_PATH, IN_ROOT), path);
        must(fstat(fd, &st), path);
        close(fd);
    }
}

static void take_trees(int host)
{
    struct statx stx;
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
                              .propagation = MS_PRIVATE};
    for (int i = 0; i < thing_count; i++) {
        if (things[i].kind != 'm')
            continue;
        int fd = must(openat2(host, things[i].what, O_PATH, RESOLVE_NO_SYMLINKS), things[i].what);
        look_at(fd, &stx);
        int tree = must(syscall(SYS_open_tree, fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH), "open_tree");
        must(syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr), "mount_setattr");
        things[i].tree = tree;
        close(fd);
    }
}

static int known_directory(const char *path, size_t length)
{
    for (int i = 0; i < directory_count; i++)
        if (strlen(directories[i].path) == length && memcmp(directories[i].path, path, length) == 0)
            return directories[i].fd;
    return -1;
}

// The directory of a file of the container, made if it is not there; `*name` becomes the file's name.
static int directory_of(int root, const char *path, const char **name)
{
    struct statx stx;
    int directory = root;
    *name = path;
    for (const char *slash; (slash = strchr(*name, '/')); *name = slash + 1) {
        const size_t length = (size_t)(slash - path);
        const int known = known_directory(path, length);
        if (known >= 0) {
            directory = known;
            continue;
        }
        char part[256] = "";
        memcpy(part, *name, (size_t)(slash - *name));
        if (mkdirat(directory, part, 0755) < 0 && errno != EEXIST)
            err(1, "%s", part);
        // /dev is a mount.
        directory = must(openat2(directory, part, O_PATH | O_DIRECTORY, BENEATH & ~(unsigned long)RESOLVE_NO_XDEV), part);
        look_at(directory, &stx);
        memcpy(directories[directory_count].path, path, length);
        directories[directory_count++].fd = directory;
    }
    return directory;
}

static void mount_one(int root, const struct thing *mount)
{
    const char *name;
    struct statx stx;
    int directory = directory_of(root, mount->path, &name);
    must(mknodat(directory, name, S_IFREG | 0644, 0), name);
    int place = must(openat2(directory, name, O_PATH, BENEATH), name);
    must(syscall(SYS_move_mount, mount->tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH),
         "move_mount");
    int mounted = must(openat2(root, mount->path, O_PATH, IN_ROOT), mount->path);
    look_at(mounted, &stx);
    close(mounted);
    close(place);
}

static void make_node(int root, const struct thing *node, unsigned major)
{
    const char *name;
    int directory = directory_of(root, node->path, &name);
    mode_t before = umask(0);
    must(mknodat(directory, name, S_IFCHR | 0666, makedev(major, (unsigned)atoi(node->what))), name);
    umask(before);
}

static void make_link(int root, const struct thing *link)
{
    const char *name;
    int directory = directory_of(root, link->path, &name);
    must(symlinkat(link->what, directory, name), name);
}

static void give(int root, unsigned major)
{
    for (int i = 0; i < thing_count; i++)
        if (things[i].kind == 'm')
            mount_one(root, &things[i]);
    for (int i = 0; i < thing_count; i++)
        if (things[i].kind == 'n')
            make_node(root, &things[i], major);
    for (int i = 0; i < thing_count; i++)
        if (things[i].kind == 'l')
            make_link(root, &things[i]);
}

int main(int argc, char **argv)
{
    if (argc < 9)
        errx(2, "usage: %s PID BUNDLE ROOTFS HOST CGROUP MAJOR {KIND PATH WHAT}...", argv[0]);
    const unsigned more = 1U << CAP_MKNOD | 1U << CAP_NET_ADMIN;
    const char *rootfs = argv[3];
    struct statx stx;

    read_arguments(argc, argv);
    begin(argv[2], more);
    int proc = must(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), "/proc");
    int host = must(open(argv[4], O_PATH | O_DIRECTORY | O_CLOEXEC), argv[4]);
    read_specifications(host);
    int init = hold(atoi(argv[1]));
    check_host(host);
    int cgroup = open_cgroup(proc, argv[1], argv[5]);
    take_trees(host);
    enter(init, rootfs, more);
    int root = must(open(rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC), rootfs);
    look_at(root, &stx);
    allow_devices(cgroup, devices, device_count);
    give(root, (unsigned)atoi(argv[6]));
    return 0;
}
