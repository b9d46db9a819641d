// SPDX-License-Identifier: Apache-2.0
//
// The floor of the ldcache-update benchmark: the system calls that it takes to add a directory to the loader cache of
// an image with glibc, in the order of the hook. It reads the bytes that the hook reads and writes what it writes,
// which somebody has to tell: CACHE is a file with the new cache, CONF the text of the drop-in.
//
// With `mount` the root is read-only: a new file is filled with the cache and mounted over the image's.
// Nothing is made here for mounts that are not needed in the end.
//
// Keep in step with the hook: the benchmark prints `strace -c` of both side by side. One function is one step;
// the one that runs once per name in the directory is look_at_library(). Each library has to have one symlink.
//
// usage: floor-ldcache-update PID BUNDLE ROOTFS DIRECTORY CACHE CONF replace|mount  < state

#include "floor.h"

#include <dirent.h>
#include <elf.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/random.h>

#define HEAD_SIZE 1024
#define IN_ROOT (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)

// In .bss, so that only the pages in use count as memory.
static char dirents[32 * DIRENTS_SIZE];
static char cache[64 << 20];
static size_t cache_size;

struct file {
    int tree, fd;
};

static void load_cache(const char *path)
{
    int fd = must(open(path, O_RDONLY | O_CLOEXEC), path);
    cache_size = (size_t)must(read(fd, cache, sizeof cache), path);
    close(fd);
}

// A tmpfs that nobody else sees, with a file in it, and the mount of that file: before the container is entered.
static struct file make_own_file(void)
{
    struct mount_attr private = {.propagation = MS_PRIVATE};
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
        .propagation = MS_PRIVATE,
    };
    struct statx stx;
    struct file own;
    must(unshare(CLONE_NEWNS), "unshare");
    must(mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private, sizeof private), "mount_setattr");
    int context = must(fsopen("tmpfs", FSOPEN_CLOEXEC), "fsopen");
    must(fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0), "fsconfig");
    int top = must(fsmount(context, FSMOUNT_CLOEXEC, 0), "fsmount");
    must(move_mount(top, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH), "move_mount");
    close(context);
    own.fd = must(openat(top, "own", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), "own");
    own.tree = must(open_tree(top, "own", OPEN_TREE_CLONE | AT_RECURSIVE | OPEN_TREE_CLOEXEC), "open_tree");
    must(mount_setattr(own.tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr), "mount_setattr");
    look_at(own.fd, &stx);
    close(top);
    return own;
}

static int reopen(int proc, int fd)
{
    char link[32];
    snprintf(link, sizeof link, "self/fd/%d", fd);
    return must(openat(proc, link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), link);
}

// Of all that is parsed in a library only what is needed to read the same bytes.
static void read_library(int proc, int found)
{
    char head[HEAD_SIZE], dynamic[HEAD_SIZE], name[256];
    struct stat st;
    int fd = reopen(proc, found);
    must(fstat(fd, &st), "fstat");
    must(pread(fd, head, sizeof head, 0), "pread");
    const Elf64_Ehdr *header = (void *)head;
    for (int i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = (void *)(head + header->e_phoff + i * sizeof *segment);
        if (segment->p_type == PT_DYNAMIC)
            must(pread(fd, dynamic, segment->p_filesz, (off_t)segment->p_offset), "pread");
    }
    must(pread(fd, name, sizeof name, HEAD_SIZE), "pread");  // strings come soon after the headers
    close(fd);
}

// Once per name. What is no symlink has been read by way of one, or will be: one look is enough.
static void look_at_library(int proc, int root, int directory, const char *path, const struct dirent64_raw *entry)
{
    char full[4096];
    struct statx stx;
    struct stat st;
    if (entry->type != DT_LNK) {
        must(fstatat(directory, entry->name, &st, AT_SYMLINK_NOFOLLOW), entry->name);
        return;
    }
    snprintf(full, sizeof full, "%s/%s", path, entry->name);
    int target = must(openat2(root, full, O_PATH, IN_ROOT), full);
    look_at(target, &stx);
    read_library(proc, target);
    close(target);
}

static void read_directory(int proc, int root, const char *path)
{
    struct statx stx;
    long got;
    int directory = must(openat2(root, path, O_PATH, IN_ROOT), path);
    look_at(directory, &stx);
    int list = must(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), path);
    while ((got = must(syscall(SYS_getdents64, list, dirents, sizeof dirents), "getdents64")) > 0) {
        struct dirent64_raw *entry;
        for (char *at = dirents; at < dirents + got; at += entry->reclen) {
            entry = (void *)at;
            if (entry->name[0] != '.')
                look_at_library(proc, root, directory, path, entry);
        }
    }
    close(list);
    openat2(directory, "glibc-hwcaps", O_PATH | O_NOFOLLOW, BENEATH);  // not there
    close(directory);
}

static void look_at_path(int root, const char *path)
{
    struct statx stx;
    int fd = openat2(root, path, O_PATH, IN_ROOT);
    if (fd < 0 && errno == ENOENT)
        return;
    look_at(must(fd, path), &stx);
    close(fd);
}

static void read_image_file(int proc, int root, const char *path)
{
    struct statx stx;
    int found = must(openat2(root, path, O_PATH, IN_ROOT), path);
    look_at(found, &stx);
    int fd = reopen(proc, found);
    read_to_end(fd);
    close(fd);
    close(found);
}

static void read_image(int proc, int root)
{
    static const char *const musl[] = {
        "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1", "/lib/ld-musl-i386.so.1",
        "/lib/ld-musl-armhf.so.1", "/lib/ld-musl-powerpc64le.so.1",
    };
    look_at_path(root, "/lib64/ld-linux-x86-64.so.2");
    read_image_file(proc, root, "/etc/ld.so.cache");
    look_at_path(root, "/etc");
    read_file(proc, "self/mountinfo");
    read_image_file(proc, root, "/etc/ld.so.conf");
    look_at_path(root, "/etc/ld.so.conf.d/00-oci-gpu-hooks.conf");
    look_at_path(root, "/etc/ld.so.conf.d");
    for (size_t i = 0; i < sizeof musl / sizeof *musl; i++)
        look_at_path(root, musl[i]);
}

static void write_new(int directory, char *name, const char *bytes, size_t size)
{
    unsigned long number;
    must(getrandom(&number, sizeof number, 0), "getrandom");
    sprintf(name, ".oci-gpu-hooks-%016lx", number);
    int fd = must(openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644), name);
    write_all(fd, bytes, size);
    close(fd);
}

static void replace(int root, const char *conf)
{
    char new_conf[64], new_cache[64];
    int directory = must(openat2(root, "/etc/ld.so.conf.d", O_PATH, IN_ROOT), "/etc/ld.so.conf.d");
    int etc = must(openat2(root, "/etc", O_PATH, IN_ROOT), "/etc");
    write_new(directory, new_conf, conf, strlen(conf));
    write_new(etc, new_cache, cache, cache_size);
    must(renameat(directory, new_conf, directory, "00-oci-gpu-hooks.conf"), "renameat");
    must(renameat(etc, new_cache, etc, "ld.so.cache"), "renameat");
    close(directory);
    close(etc);
}

static void mount_over(int root, struct file own)
{
    const unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
    struct statx stx;
    int etc = must(openat2(root, "/etc", O_PATH, IN_ROOT), "/etc");
    int place = must(openat2(etc, "ld.so.cache", O_PATH, BENEATH), "ld.so.cache");
    look_at(place, &stx);
    write_all(own.fd, cache, cache_size);
    must(move_mount(own.tree, "", place, "", flags), "move_mount");
    int seen = must(openat2(root, "/etc/ld.so.cache", O_PATH, IN_ROOT), "/etc/ld.so.cache");
    look_at(seen, &stx);
    close(seen);
    close(place);
    close(etc);
}

int main(int argc, char **argv)
{
    if (argc != 8)
        errx(2, "usage: %s PID BUNDLE ROOTFS DIRECTORY CACHE CONF replace|mount", argv[0]);
    const char *rootfs = argv[3];
    const int mounts = strcmp(argv[7], "mount") == 0;
    struct file own = {-1, -1};
    struct statx stx;

    begin(argv[2], 0);
    int proc = must(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), "/proc");
    load_cache(argv[5]);
    int init = hold(atoi(argv[1]));
    if (mounts)
        own = make_own_file();
    enter(init, rootfs, 0);
    int root = must(open(rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC), rootfs);
    look_at(root, &stx);
    read_directory(proc, root, argv[4]);
    read_image(proc, root);
    if (mounts)
        mount_over(root, own);
    else
        replace(root, argv[6]);
    return 0;
}
