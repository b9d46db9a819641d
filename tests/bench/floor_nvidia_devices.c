// SPDX-License-Identifier: Apache-2.0
//
// The floor of the nvidia-devices benchmark: the system calls that it takes to give a container GPUs for computing, and
// the driver's files, in the order of the hook. It reads the host's files that the hook reads, and writes what it
// writes; but it searches no library and looks into none: LIST says where they are, see floor_tree.h.
//
// Keep in step with the hook: the benchmark prints `strace -c` of both side by side. One function is one step.
//
// usage: floor-nvidia-devices PID BUNDLE ROOTFS HOST CGROUP LIST MAJOR UVM-MAJOR {ADDRESS MINOR}...  < state

#include "floor.h"
#include "floor_cgroup.h"
#include "floor_tree.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define IN_ROOT (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)
#define MAX_GPUS 64
#define MAX_NODES (MAX_GPUS + 3)
#define MAX_FILE 65536

struct gpu {
    const char *address;
    int tree; // of its directory below /proc/driver/nvidia/gpus
};

struct text {
    const char *name;
    size_t size;
    char bytes[MAX_FILE];
};

// In .bss, so that only the pages in use count as memory.
static struct gpu gpus[MAX_GPUS];
static char names[MAX_NODES][32]; // below /dev
static struct device devices[MAX_NODES]; // of these names
static int gpu_count, node_count;
static struct text texts[] = {{.name = "version"}, {.name = "params"}, {.name = "registry"}};
static char dirents[32 * DIRENTS_SIZE];

static void add_node(const char *name, unsigned number, unsigned major, unsigned minor)
{
    snprintf(names[node_count], sizeof names[node_count], name, number);
    devices[node_count++] = (struct device){major, minor};
}

static void read_arguments(int argc, char **argv)
{
    const unsigned major = (unsigned)atoi(argv[7]), uvm = (unsigned)atoi(argv[8]);
    for (int i = 9; i + 1 < argc && gpu_count < MAX_GPUS; i += 2) {
        const unsigned minor = (unsigned)atoi(argv[i + 1]);
        gpus[gpu_count++].address = argv[i];
        add_node("nvidia%u", minor, major, minor);
    }
    add_node("nvidiactl", 0, major, 255);
    add_node("nvidia-uvm", 0, uvm, 0);
    add_node("nvidia-uvm-tools", 0, uvm, 1);
}

static int open_directory(int at, const char *path)
{
    return must(openat2(at, path, O_PATH | O_DIRECTORY, IN_ROOT), path);
}

static void read_text(int directory, struct text *to)
{
    struct stat st;
    int fd = must(openat2(directory, to->name, O_RDONLY | O_NOFOLLOW, BENEATH), to->name);
    must(fstat(fd, &st), to->name);
    long got;
    while ((got = must(read(fd, to->bytes + to->size, sizeof to->bytes - to->size), to->name)) > 0)
        to->size += (size_t)got;
    close(fd);
}

// What the driver's libraries would make nodes by. Of all that is parsed only this has an effect.
static void forbid_nodes(struct text *params)
{
    static const char key[] = "ModifyDeviceFiles: ";
    char *found = memmem(params->bytes, params->size, key, sizeof key - 1);
    if (!found)
        errx(1, "no %s", key);
    found[sizeof key - 1] = '0';
}

static void read_gpus(int driver)
{
    char path[320];
    long got;
    int list = must(openat(driver, "gpus", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "gpus");
    while ((got = must(syscall(SYS_getdents64, list, dirents, sizeof dirents), "getdents64")) > 0) {
        struct dirent64_raw *entry;
        for (char *at = dirents; at < dirents + got; at += entry->reclen) {
            entry = (void *)at;
            if (entry->name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/information", entry->name);
            read_file(list, path);
        }
    }
    close(list);
}

static void read_host(int host)
{
    int driver = open_directory(host, "proc/driver/nvidia");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        read_text(driver, &texts[i]);
    forbid_nodes(&texts[1]);
    read_file(host, "proc/devices");
    read_gpus(driver);
    close(driver);
    read_file(host, "etc/ld.so.cache");
}

static int open_cgroup(int proc, const char *pid, const char *cgroup)
{
    char path[64];
    struct statfs fs;
    read_file(proc, "self/mountinfo");
    snprintf(path, sizeof path, "%s/cgroup", pid);
    read_file(proc, path);
    read_file(proc, "self/cgroup");
    int fd = must(open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC), cgroup);
    must(fstatfs(fd, &fs), "fstatfs");
    return fd;
}

// The directories that are mounted, and the host's nodes, which are only looked at.
static void open_sources(int host)
{
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
        .propagation = MS_PRIVATE,
    };
    const unsigned flags = AT_EMPTY_PATH | OPEN_TREE_CLONE | AT_RECURSIVE | OPEN_TREE_CLOEXEC;
    char path[320];
    struct statx stx;
    for (int i = 0; i < gpu_count; i++) {
        snprintf(path, sizeof path, "proc/driver/nvidia/gpus/%s", gpus[i].address);
        int fd = open_directory(host, path);
        look_at(fd, &stx);
        gpus[i].tree = must(open_tree(fd, "", flags), "open_tree");
        must(mount_setattr(gpus[i].tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr), "mount_setattr");
        close(fd);
    }
    for (int i = 0; i < node_count; i++) {
        snprintf(path, sizeof path, "dev/%s", names[i]);
        int fd = must(openat2(host, path, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS), path);
        look_at(fd, &stx);
        close(fd);
    }
}

static void make_nodes(int proc, int root)
{
    struct statx stx;
    int dev = open_directory(root, "dev");
    look_at(dev, &stx);
    read_file(proc, "self/mountinfo"); // on which filesystem that is
    for (int i = 0; i < node_count; i++) {
        mode_t before = umask(0);
        must(mknodat(dev, names[i], S_IFCHR | 0666, makedev(devices[i].major, devices[i].minor)), names[i]);
        umask(before);
    }
    close(dev);
}

static void fill(int top)
{
    const unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int fd = must(openat(top, texts[i].name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444), texts[i].name);
        write_all(fd, texts[i].bytes, texts[i].size);
        close(fd);
    }
    must(mkdirat(top, "gpus", 0755), "gpus");
    int directory = must(openat2(top, "gpus", O_PATH | O_DIRECTORY, BENEATH), "gpus");
    for (int i = 0; i < gpu_count; i++) {
        must(mkdirat(directory, gpus[i].address, 0755), gpus[i].address);
        int place = must(openat2(directory, gpus[i].address, O_PATH | O_DIRECTORY, BENEATH), gpus[i].address);
        must(move_mount(gpus[i].tree, "", place, "", flags), "move_mount");
        close(place);
    }
    close(directory);
}

static void cover_proc(int root)
{
    const char *path = "proc/driver/nvidia";
    struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};
    struct statx stx;
    struct statfs fs;
    int place = open_directory(root, path);
    look_at(place, &stx);
    must(fstatfs(place, &fs), "fstatfs");
    int top = make_tmpfs(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY);
    must(move_mount(top, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH), "move_mount");
    int seen = open_directory(root, path);
    look_at(seen, &stx);
    must(mount_setattr(top, "", AT_EMPTY_PATH, &attr, sizeof attr), "mount_setattr");
    fill(top);
    attr = (struct mount_attr){.attr_set = MOUNT_ATTR_RDONLY};
    must(mount_setattr(top, "", AT_EMPTY_PATH, &attr, sizeof attr), "mount_setattr");
    close(seen);
    close(place);
}

int main(int argc, char **argv)
{
    if (argc < 11)
        errx(2, "usage: %s PID BUNDLE ROOTFS HOST CGROUP LIST MAJOR UVM-MAJOR {ADDRESS MINOR}...", argv[0]);
    const unsigned more = 1U << CAP_MKNOD | 1U << CAP_NET_ADMIN;
    const char *rootfs = argv[3];
    struct statx stx;

    read_arguments(argc, argv);
    read_tree_list(argv[6]);
    begin(argv[2], more);
    int proc = must(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), "/proc");
    int host = must(open(argv[4], O_PATH | O_DIRECTORY | O_CLOEXEC), argv[4]);
    read_host(host);
    int init = hold(atoi(argv[1]));
    int cgroup = open_cgroup(proc, argv[1], argv[5]);
    open_sources(host);
    put_tree_together();
    enter(init, rootfs, more);
    int root = must(open(rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC), rootfs);
    look_at(root, &stx);
    allow_devices(cgroup, devices, node_count);
    make_nodes(proc, root);
    attach_tree(root, "usr/local/nvidia");
    link_to_tree(root);
    cover_proc(root);
    return 0;
}
