// SPDX-License-Identifier: Apache-2.0
// What a bad library of NVIDIA's would try: each under a name, see nvml_attacks.h. Where the kernel would refuse a call for
// want of a capability alone, it is made so that it would be refused in another way first: what is asked is whether the call
// is made at all.
#define _GNU_SOURCE
#include "nvml_attacks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const NOWHERE = (const char *)1;

struct attack {
    const char *name;
    int (*make)(const char *argument); // -1 and errno where it is refused
};

static int map_file(const char *path)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    char *const text = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (text == MAP_FAILED)
        return -1;
    *text = '!';
    return 0;
}

static int change_mode(const char *path)
{
    return chmod(path, 0777);
}

static int rename_file(const char *path)
{
    return rename(path, "/tmp/stolen");
}

static int read_file(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int make_directory(const char *path)
{
    return mkdir(path, 0777);
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, sizeof address);
}

static int make_socketpair(const char *argument)
{
    int pair[2];
    (void)argument;
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

static int kill_process(const char *pid)
{
    return kill(atoi(pid), SIGTERM);
}
static int kill_self(const char *argument)
{
    (void)argument;
    return kill(getpid(), 0);
}
static int kill_first(const char *argument)
{
    (void)argument;
    return (int)syscall(SYS_tgkill, 1, 1, 0);
}
static int tell_self(const char *argument)
{
    (void)argument;
    return (int)syscall(SYS_tgkill, getpid(), gettid(), 0);
}
static int queue_signal(const char *argument)
{
    (void)argument;
    return (int)syscall(SYS_rt_sigqueueinfo, getpid(), 0, NULL);
}
static int open_pidfd(const char *argument)
{
    (void)argument;
    return (int)syscall(SYS_pidfd_open, getpid(), 0);
}
static int trace(const char *argument)
{
    (void)argument;
    return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int read_memory(const char *argument)
{
    char from = 'a', to = 'b';
    struct iovec here = {&to, 1}, there = {&from, 1};
    (void)argument;
    return (int)process_vm_readv(getpid(), &here, 1, &there, 1, 0);
}

static int mount_it(const char *argument)
{
    (void)argument;
    return mount(NOWHERE, NOWHERE, NOWHERE, 0, NULL);
}
static int unmount_it(const char *argument)
{
    (void)argument;
    return umount2("/", 0x1000);
}
static int open_mount(const char *argument)
{
    (void)argument;
    return (int)syscall(SYS_open_tree, AT_FDCWD, "/", 0);
}
static int change_root(const char *argument)
{
    (void)argument;
    return chroot(NOWHERE);
}
static int leave_namespace(const char *argument)
{
    (void)argument;
    return unshare(CLONE_NEWUSER);
}
static int enter_namespace(const char *argument)
{
    (void)argument;
    return setns(0, 0);
}

/** A child in it would be there to see. */
static int clone_with(unsigned long flags)
{
    const long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(0);
    return pid < 0 ? -1 : (int)waitpid((pid_t)pid, NULL, 0);
}

static int clone_user(const char *argument)
{
    (void)argument;
    return clone_with(CLONE_NEWUSER);
}
static int clone_both(const char *argument)
{
    (void)argument;
    return clone_with(CLONE_NEWUSER | CLONE_NEWNS);
}
static int clone_plain(const char *argument)
{
    (void)argument;
    return clone_with(0);
}
static int fork_it(const char *argument)
{
    (void)argument;
#ifdef SYS_fork // newer machines have clone alone
    const long pid = syscall(SYS_fork);
    if (pid == 0)
        _exit(0);
    return pid < 0 ? -1 : (int)waitpid((pid_t)pid, NULL, 0);
#else
    return clone_with(0);
#endif
}

static void *be_a_thread(void *wait)
{
    while (wait != NULL)
        pause();
    return NULL;
}
/** How many it takes until there can be no more; 0 if `most` of them can. */
static int start_threads(int most, void *wait)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int error = pthread_attr_init(&attributes);
    error = error != 0 ? error : pthread_attr_setstacksize(&attributes, 65536);
    for (int i = 0; i < most && error == 0; ++i)
        error = pthread_create(&thread, &attributes, be_a_thread, wait);
    errno = error;
    return error == 0 ? 0 : -1;
}
static int start_thread(const char *argument)
{
    (void)argument;
    return start_threads(1, NULL);
}
static int start_many(const char *argument)
{
    (void)argument;
    return start_threads(20000, be_a_thread);
}
static int reserve_memory(const char *gibibytes)
{
    const size_t size = strtoul(gibibytes, NULL, 10) << 30;
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ==
                   MAP_FAILED
               ? -1
               : 0;
}
static int keep_memory(const char *argument)
{
    (void)argument;
    return shmget(IPC_PRIVATE, 1, 0600);
}
static int keep_semaphore(const char *argument)
{
    (void)argument;
    return semget(IPC_PRIVATE, 1, 0600);
}
static int keep_messages(const char *argument)
{
    (void)argument;
    return msgget(IPC_PRIVATE, 0600);
}
static int open_queue(const char *name)
{
    return mq_open(name, O_RDONLY);
}
static int leave_session(const char *argument)
{
    (void)argument;
    return setsid();
}
static int leave_group(const char *argument)
{
    (void)argument;
    return setpgid(0, 0);
}
/** open_tree_attr(2), of Linux 6.15. */
static int open_mount_newly(const char *argument)
{
    (void)argument;
    return (int)syscall(467, AT_FDCWD, "/", 0, NULL, 0);
}
static int clone_by_memory(const char *argument)
{
    (void)argument;
    return (int)syscall(SYS_clone3, NULL, 0);
}
static int load_bpf(const char *argument)
{
    (void)argument;
    return (int)syscall(SYS_bpf, 0, NULL, 1 << 20);
}
static int use_keys(const char *argument)
{
    (void)argument;
    return (int)syscall(SYS_keyctl, 9999, 0, 0, 0, 0);
}
static int add_key(const char *argument)
{
    (void)argument;
    return (int)syscall(SYS_add_key, NOWHERE, NOWHERE, NULL, 0, 0);
}
static int set_up_ring(const char *argument)
{
    (void)argument;
    return (int)syscall(SYS_io_uring_setup, 0, NULL);
}
static int count_events(const char *argument)
{
    (void)argument;
    return (int)syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0);
}
static int run_program(const char *argument)
{
    (void)argument;
    return execl("/nothing", "nothing", (char *)NULL);
}
static int become_root(const char *argument)
{
    (void)argument;
    return setuid(0);
}

static const struct attack ATTACKS[] = {
    {"map", map_file},
    {"chmod", change_mode},
    {"rename", rename_file},
    {"read", read_file},
    {"mkdir", make_directory},
    {"connect", connect_to},
    {"socketpair", make_socketpair},
    {"kill", kill_process},
    {"kill-self", kill_self},
    {"kill-first", kill_first},
    {"tell-self", tell_self},
    {"sigqueue", queue_signal},
    {"pidfd", open_pidfd},
    {"ptrace", trace},
    {"memory", read_memory},
    {"mount", mount_it},
    {"umount", unmount_it},
    {"open-tree", open_mount},
    {"chroot", change_root},
    {"unshare", leave_namespace},
    {"setns", enter_namespace},
    {"clone-user", clone_user},
    {"clone-both", clone_both},
    {"clone", clone_plain},
    {"clone3", clone_by_memory},
    {"bpf", load_bpf},
    {"keyctl", use_keys},
    {"add-key", add_key},
    {"io-uring", set_up_ring},
    {"perf", count_events},
    {"execve", run_program},
    {"setuid", become_root},
    {"fork", fork_it},
    {"thread", start_thread},
    {"threads", start_many},
    {"reserve", reserve_memory},
    {"shmget", keep_memory},
    {"semget", keep_semaphore},
    {"msgget", keep_messages},
    {"queue", open_queue},
    {"setsid", leave_session},
    {"setpgid", leave_group},
    {"newer", open_mount_newly},
};

void attack(const char *name, const char *argument, int answer)
{
    for (size_t i = 0; i < sizeof ATTACKS / sizeof *ATTACKS; ++i) {
        if (strcmp(ATTACKS[i].name, name) == 0)
            dprintf(answer, "%s=%s\n", name, ATTACKS[i].make(argument) < 0 ? strerrorname_np(errno) : "done");
    }
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

void show_directory(const char *path, int answer)
{
    struct dirent **entries = NULL;
    const int count = scandir(path, &entries, is_shown, alphasort);
    dprintf(answer, "%s:", path);
    for (int i = 0; i < count; ++i)
        dprintf(answer, " %s", entries[i]->d_name);
    dprintf(answer, "\n");
}
