// SPDX-License-Identifier: Apache-2.0
//
// The floor of the mount-srv benchmark: the system calls that mount-srv makes for an empty target
// directory and the value `all`, in the same order.
//
// Keep in step with the hook: the benchmark prints `strace -c` of both side by side. One function
// is one step; the two that run once per directory are clone_source() and attach().
//
// usage: floor-mount-srv PID BUNDLE ROOTFS SOURCE-DIR TARGET-DIR  < state

#include "floor.h"

#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>

#define MAX_DIRECTORIES 4096

struct directory {
    const char *name;
    int tree;
    struct statx source;
};

// In .bss, so that only the pages in use count as memory.
static struct directory directories[MAX_DIRECTORIES];
static char dirents[32 * DIRENTS_SIZE];

static void raise_open_files(void)
{
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    must(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

static int list_directories(int source_dir)
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
            if (count == MAX_DIRECTORIES || at + DIRENTS_SIZE > dirents + sizeof dirents)
                errx(1, "too many directories");
            directories[count++].name = entry->name;
        }
    }
    return count;
}

// Once per directory, on the host.
static void clone_source(int source_dir, struct directory *directory)
{
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
        .propagation = MS_PRIVATE,
    };
    int fd = must(openat2(source_dir, directory->name, O_PATH, RESOLVE_NO_SYMLINKS), directory->name);
    look_at(fd, &directory->source);
    directory->tree = must(open_tree(fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | AT_RECURSIVE | OPEN_TREE_CLOEXEC),
                "open_tree");
    must(mount_setattr(directory->tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr), "mount_setattr");
    close(fd);
}

// The target directory's mount is looked up in the container's mount table.
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

// Once per directory, in the container.
static void attach(int target_dir, const struct directory *directory)
{
    const unsigned long beneath = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    const unsigned long inside = beneath | RESOLVE_NO_XDEV;
    struct statx stx;
    must(mkdirat(target_dir, directory->name, 0755), "mkdirat");
    int place = must(openat2(target_dir, directory->name, O_PATH | O_DIRECTORY | O_NOFOLLOW, inside), directory->name);
    must(move_mount(directory->tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH), "move_mount");
    int seen = must(openat2(target_dir, directory->name, O_PATH | O_NOFOLLOW, beneath), directory->name);
    look_at(seen, &stx);
    close(seen);
    close(place);
    close(directory->tree);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        errx(2, "usage: %s PID BUNDLE ROOTFS SOURCE-DIR TARGET-DIR", argv[0]);

    begin(argv[2], 0);
    int proc = must(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), "/proc");

    int source_dir = must(openat2(AT_FDCWD, argv[4], O_RDONLY | O_DIRECTORY, 0), argv[4]);
    int count = list_directories(source_dir);
    raise_open_files();
    for (int i = 0; i < count; i++)
        clone_source(source_dir, &directories[i]);
    close(source_dir);

    enter(hold(atoi(argv[1])), argv[3], 0);
    int target_dir = open_target(proc, argv[3], argv[5]);
    for (int i = 0; i < count; i++)
        attach(target_dir, &directories[i]);
    return 0;
}
