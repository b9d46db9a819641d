// SPDX-License-Identifier: Apache-2.0
#include "floor.h"

#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

char scratch[1 << 20];  // in .bss, so that only the pages in use count as memory

int must(long result, const char *what)
{
    if (result < 0)
        err(1, "%s", what);
    return (int)result;
}

int openat2(int at, const char *path, unsigned long flags, unsigned long resolve)
{
    struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
    return (int)syscall(SYS_openat2, at, path, &how, sizeof how);
}

size_t read_to_end(int fd)
{
    size_t all = 0;
    long got;
    while ((got = must(read(fd, scratch, sizeof scratch), "read")) > 0)
        all += (size_t)got;
    return all;
}

void read_file(int at, const char *path)
{
    int fd = must(openat(at, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), path);
    read_to_end(fd);
    close(fd);
}

void write_all(int fd, const char *bytes, size_t size)
{
    if (must(write(fd, bytes, size), "write") != (int)size)
        errx(1, "write: too little");
}

void look_at(int fd, struct statx *found)
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

void begin(const char *bundle, unsigned more)
{
    const __u32 to_enter = 1U << CAP_SYS_ADMIN | 1U << CAP_SYS_CHROOT | 1U << CAP_SYS_PTRACE;
    clean_process();
    empty_bounding_set();
    limit_capabilities(to_enter | 1U << CAP_DAC_OVERRIDE | more);
    read_to_end(STDIN_FILENO);
    int directory = must(openat2(AT_FDCWD, bundle, O_PATH | O_DIRECTORY, 0), bundle);
    read_file(directory, "config.json");
    close(directory);
}

int hold(pid_t pid)
{
    const char *kinds[] = {"mnt", "user"};
    char path[64];
    struct stat st;
    int pidfd = must(syscall(SYS_pidfd_open, pid, 0), "pidfd_open");
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, kinds[i]);
        must(stat(path, &st), path);
        snprintf(path, sizeof path, "/proc/self/ns/%s", kinds[i]);
        must(stat(path, &st), path);
    }
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    must(poll(&ended, 1, 0), "poll");
    return pidfd;
}

void enter(int pidfd, const char *rootfs, unsigned more)
{
    struct stat st;
    must(stat(rootfs, &st), rootfs);
    must(setns(pidfd, CLONE_NEWNS), "setns");
    limit_capabilities(1U << CAP_SYS_ADMIN | 1U << CAP_DAC_OVERRIDE | more);
    must(stat(rootfs, &st), rootfs);
    close(pidfd);
}
