// SPDX-License-Identifier: Apache-2.0
//
// The floor of the amd-kfd benchmark: the system calls that it takes to give a container AMD GPUs, in the order of the
// hook. It reads the host's files that the hook reads, and makes what it makes.
//
// Keep in step with the hook: the benchmark prints `strace -c` of both side by side. One function is one step.
//
// usage: floor-amd-kfd PID BUNDLE ROOTFS HOST CGROUP DRM-MAJOR KFD-MAJOR {DEVICE CARD RENDER}...  < state
//
// DEVICE is what udev calls it in by-path: pci-0000:1b:00.0, platform-amdgpu_xcp_3. CARD and RENDER are minor numbers.

#include "floor.h"
#include "floor_cgroup.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#define IN_ROOT (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)
#define MAX_GPUS 64
#define MAX_NODES (1 + 2 * MAX_GPUS)

struct gpu {
    const char *device;
    unsigned card, render;
};

// In .bss, so that only the pages in use count as memory.
static struct gpu gpus[MAX_GPUS];
static char names[MAX_NODES][32]; // below /dev, that of KFD first
static struct device devices[MAX_NODES]; // of these names
static int gpu_count, node_count;
static char dirents[DIRENTS_SIZE], text[65536];

static void add_node(const char *name, unsigned number, unsigned major, unsigned minor)
{
    snprintf(names[node_count], sizeof names[node_count], name, number);
    devices[node_count++] = (struct device){major, minor};
}

static void read_arguments(int argc, char **argv)
{
    const unsigned drm = (unsigned)atoi(argv[6]), kfd = (unsigned)atoi(argv[7]);
    add_node("kfd", 0, kfd, 0);
    for (int i = 8; i + 2 < argc && gpu_count < MAX_GPUS; i += 3) {
        struct gpu *gpu = &gpus[gpu_count++];
        *gpu = (struct gpu){argv[i], (unsigned)atoi(argv[i + 1]), (unsigned)atoi(argv[i + 2])};
        add_node("dri/card%u", gpu->card, drm, gpu->card);
        add_node("dri/renderD%u", gpu->render, drm, gpu->render);
    }
}

static int open_directory(int at, const char *path)
{
    return must(openat2(at, path, O_PATH | O_DIRECTORY, IN_ROOT), path);
}

// A file of sysfs comes whole with one read. Gives its size; the text ends with a 0.
static int read_once(int at, const char *path)
{
    int fd = must(openat(at, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), path);
    int got = must(read(fd, text, sizeof text - 1), path);
    text[got] = 0;
    close(fd);
    return got;
}

// What a GPU is in sysfs, and so where on the bus. Which one it is says one line of many.
static void look_up(int drm)
{
    const char *key = "\ndrm_render_minor ";
    const char *found = strstr(text, key);
    char path[64], target[256];
    if (!found || !atoi(found + strlen(key)))
        return; // a CPU
    snprintf(path, sizeof path, "renderD%d/device", atoi(found + strlen(key)));
    must(readlinkat(drm, path, target, sizeof target), path);
}

static void read_topology(int kfd, int drm)
{
    char path[320];
    long got;
    int list = must(openat(kfd, "topology/nodes", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "topology/nodes");
    while ((got = must(syscall(SYS_getdents64, list, dirents, sizeof dirents), "getdents64")) > 0) {
        struct dirent64_raw *entry;
        for (char *at = dirents; at < dirents + got; at += entry->reclen) {
            entry = (void *)at;
            if (entry->name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/properties", entry->name);
            read_once(list, path);
            look_up(drm);
        }
    }
    close(list);
}

// Which card is the first one's; how far apart its two numbers are holds for most others.
static void list_cards(int drm, unsigned render)
{
    char path[64];
    snprintf(path, sizeof path, "renderD%u/device/drm", render);
    int directory = must(openat(drm, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), path);
    while (must(syscall(SYS_getdents64, directory, dirents, sizeof dirents), "getdents64") > 0)
        ;
    close(directory);
}

static void read_nodes(int drm)
{
    char path[64], target[256];
    for (int i = 0; i < gpu_count; i++) {
        snprintf(path, sizeof path, "card%u/device", gpus[i].card);
        must(readlinkat(drm, path, target, sizeof target), path);
        if (i == 0)
            list_cards(drm, gpus[i].render);
        snprintf(path, sizeof path, "card%u/dev", gpus[i].card);
        read_once(drm, path);
        snprintf(path, sizeof path, "renderD%u/dev", gpus[i].render);
        read_once(drm, path);
    }
}

static void read_host(int host)
{
    const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    int kfd = must(openat(host, "sys/class/kfd/kfd", flags), "kfd"); // a symlink, in sysfs
    int drm = must(openat(host, "sys/class/drm", flags), "drm");
    read_once(kfd, "dev");
    read_file(host, "proc/devices");
    read_topology(kfd, drm);
    read_nodes(drm);
    close(drm);
    close(kfd);
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
        snprintf(path, sizeof path, "dev/%s", names[i]);
        int fd = must(openat2(host, path, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS), path);
        look_at(fd, &stx);
        close(fd);
    }
}

static int make_directory(int at, const char *name)
{
    must(mkdirat(at, name, 0755), name);
    return must(openat2(at, name, O_PATH | O_DIRECTORY, BENEATH), name);
}

static void make_links(int dri)
{
    char name[128], target[64];
    int directory = make_directory(dri, "by-path");
    for (int i = 0; i < gpu_count; i++) {
        snprintf(name, sizeof name, "%s-card", gpus[i].device);
        snprintf(target, sizeof target, "../card%u", gpus[i].card);
        must(symlinkat(target, directory, name), name);
        snprintf(name, sizeof name, "%s-render", gpus[i].device);
        snprintf(target, sizeof target, "../renderD%u", gpus[i].render);
        must(symlinkat(target, directory, name), name);
    }
    close(directory);
}

static void make_nodes(int root)
{
    struct statx stx;
    int dev = open_directory(root, "dev");
    look_at(dev, &stx);
    int dri = make_directory(dev, "dri");
    for (int i = 0; i < node_count; i++) {
        const char *name = i == 0 ? names[i] : names[i] + strlen("dri/");
        const dev_t number = makedev(devices[i].major, devices[i].minor);
        mode_t before = umask(0);
        must(mknodat(i == 0 ? dev : dri, name, S_IFCHR | 0666, number), names[i]);
        umask(before);
    }
    make_links(dri);
    close(dri);
    close(dev);
}

int main(int argc, char **argv)
{
    if (argc < 11)
        errx(2, "usage: %s PID BUNDLE ROOTFS HOST CGROUP DRM-MAJOR KFD-MAJOR {DEVICE CARD RENDER}...", argv[0]);
    const unsigned more = 1U << CAP_MKNOD | 1U << CAP_NET_ADMIN;
    const char *rootfs = argv[3];
    struct statx stx;

    read_arguments(argc, argv);
    begin(argv[2], more);
    int proc = must(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), "/proc");
    int host = must(open(argv[4], O_PATH | O_DIRECTORY | O_CLOEXEC), argv[4]);
    read_host(host);
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
