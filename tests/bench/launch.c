// SPDX-License-Identifier: Apache-2.0
//
// One round of a benchmark: makes a container's init process as runc has it when it calls the createRuntime
// hooks, runs one command with the OCI state on stdin, takes its time as a whole process, and takes everything
// down again. Being small and static matters twice: starting the command costs the same as from a runtime's
// thin child, and the peak memory of a process begins with that of its parent.
//
// usage: launch [-l LAYERS [-u DIRECTORY]] [-g CGROUP] [-t FILE] BUNDLE ROOTFS COMMAND [ARG]...
//
//   -l LAYERS  as overlayfs takes them in `lowerdir`: the image
//   -u DIRECTORY  an empty one, on a disk: what is written to the image goes there, not to memory
//   -g CGROUP  a directory that is not there yet, of a hierarchy with devices: the container is put into that cgroup,
//              which denies all but what runtimes allow every container. It then also has a /dev, a /proc, and a
//              directory /proc/driver/nvidia, as if the kernel had it.
//   -t FILE    a file of the container, to be copied into BUNDLE/taken after the command: what it has done
//
// An ARG that is exactly `@PID@` becomes the init's pid. ROOTFS is an empty tmpfs, or an overlay on the layers, in
// the init's mount namespace bind-mounted on itself; so each round starts without anything that the last one made.
// It has a directory `srv`.
// Prints: nanoseconds, peak memory in KiB, exit status, mounts that the command added to the container.

#define _GNU_SOURCE
#include "device_cgroup.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void must(int result, const char *what)
{
    if (result < 0)
        err(1, "%s", what);
}

static void mount_on(const char *rootfs, const char *directory, const char *type, const char *options)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", rootfs, directory) >= (int)sizeof path)
        errx(1, "the path of the rootfs is too long");
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        err(1, "%s", path);
    must(mount(type, path, type, 0, options), path);
}

// Nobody can make a directory in procfs: where there is no driver, a tmpfs stands for what the kernel has.
static void mount_for_devices(const char *rootfs)
{
    char path[4096];
    mount_on(rootfs, "dev", "tmpfs", "mode=755");
    mount_on(rootfs, "proc", "proc", NULL);
    mount_on(rootfs, "proc/driver", "tmpfs", "mode=755");
    snprintf(path, sizeof path, "%s/proc/driver/nvidia", rootfs);
    must(mkdir(path, 0755), path);
}

static _Noreturn void be_init(const char *rootfs, int has_devices, int ready)
{
    must(prctl(PR_SET_PDEATHSIG, SIGKILL), "PR_SET_PDEATHSIG");
    must(unshare(CLONE_NEWNS), "unshare");
    must(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL), "making / a slave");
    must(mount(rootfs, rootfs, NULL, MS_BIND | MS_REC, NULL), "binding the rootfs");
    int dir = open(rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
    must(dir, rootfs);
    if (mkdirat(dir, "srv", 0755) < 0 && errno != EEXIST)
        err(1, "mkdirat");
    if (has_devices)
        mount_for_devices(rootfs);
    must((int)write(ready, "", 1), "write");
    for (;;)
        pause();
}

static void mount_layers(const char *rootfs, const char *layers, const char *upper)
{
    char options[4096];
    int size = snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s/upper,workdir=%s/work", layers, upper,
                upper);
    if (size >= (int)sizeof options)
        errx(1, "the paths of the layers are too long");
    int dir = open(upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
    must(dir, upper);
    must(mkdirat(dir, "upper", 0755), "mkdirat");
    must(mkdirat(dir, "work", 0755), "mkdirat");
    close(dir);
    must(mount("overlay", rootfs, "overlay", 0, options), "mounting the layers");
}

// The host's side of a round, private to it: the rootfs is there before the container's namespace, as an
// engine has it, so that a hook can compare the directory inside with the one outside.
static void make_rootfs(const char *rootfs, const char *layers, const char *upper)
{
    must(unshare(CLONE_NEWNS), "unshare");
    must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "making / private");
    must(mount("tmpfs", rootfs, "tmpfs", 0, "mode=755"), "mounting the rootfs");
    if (layers)
        mount_layers(rootfs, layers, upper ? upper : rootfs);
}

static pid_t start_init(const char *rootfs, int has_devices)
{
    int ready[2];
    char byte;
    must(pipe2(ready, O_CLOEXEC), "pipe2");
    // Its own pid namespace, as runtimes give a container: how a lease finds out who is gone depends on it.
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_NEWPID, 0, 0, 0, 0);
    must(pid, "clone");
    if (pid == 0)
        be_init(rootfs, has_devices, ready[1]);
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        errx(1, "the container's init did not start");
    close(ready[0]);
    return pid;
}

// A pipe that holds the whole state already, its other end closed: the command never waits for us.
static int state_pipe(pid_t pid, const char *bundle)
{
    char state[2048];
    int ends[2];
    int size = snprintf(state, sizeof state,
                "{\"ociVersion\":\"1.0.2-dev\",\"id\":\"benchmark\",\"status\":\"creating\","
                "\"pid\":%d,\"bundle\":\"%s\",\"annotations\":{\"io.oci-gpu-hooks.benchmark\":\"all\"}}",
                pid, bundle);
    if (size >= (int)sizeof state)
        errx(1, "the bundle's path is too long");
    must(pipe2(ends, O_CLOEXEC), "pipe2");
    if (write(ends[1], state, (size_t)size) != size)
        err(1, "write");
    close(ends[1]);
    return ends[0];
}

static int count_mounts(pid_t pid)
{
    char path[64], buffer[65536];
    ssize_t got;
    int lines = 0;
    snprintf(path, sizeof path, "/proc/%d/mountinfo", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    must(fd, path);
    while ((got = read(fd, buffer, sizeof buffer)) > 0)
        for (ssize_t i = 0; i < got; i++)
            lines += buffer[i] == '\n';
    close(fd);
    return lines;
}

// What the container sees under this name, also if it is mounted there.
static void take(pid_t pid, const char *rootfs, const char *file, const char *bundle)
{
    char path[4096], buffer[65536];
    ssize_t got;
    snprintf(path, sizeof path, "/proc/%d/root%s%s", pid, rootfs, file);
    int from = open(path, O_RDONLY | O_CLOEXEC);
    must(from, path);
    snprintf(path, sizeof path, "%s/taken", bundle);
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    must(to, path);
    while ((got = read(from, buffer, sizeof buffer)) > 0)
        if (write(to, buffer, (size_t)got) != got)
            err(1, "write");
    close(from);
    close(to);
}

static void run(int state, char **command, long *ns, int *status, struct rusage *usage)
{
    struct timespec begin, end;
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, state, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int error = posix_spawn(&pid, command[0], &actions, NULL, command, environ);
    if (error) {
        errno = error;
        err(1, "%s", command[0]);
    }
    must(wait4(pid, status, 0, usage), "wait4");
    clock_gettime(CLOCK_MONOTONIC, &end);
    *ns = (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec;
}

int main(int argc, char **argv)
{
    const char *layers = NULL, *upper = NULL, *cgroup = NULL, *file = NULL;
    for (int option; (option = getopt(argc, argv, "+l:u:g:t:")) != -1;)
        if (option == 'l')
            layers = optarg;
        else if (option == 'u')
            upper = optarg;
        else if (option == 'g')
            cgroup = optarg;
        else if (option == 't')
            file = optarg;
        else
            return 2;
    if (argc - optind < 3)
        errx(2, "usage: %s [-l LAYERS [-u DIRECTORY]] [-g CGROUP] [-t FILE] BUNDLE ROOTFS COMMAND [ARG]...", argv[0]);
    const char *bundle = argv[optind], *rootfs = argv[optind + 1];
    char **command = argv + optind + 2;
    make_rootfs(rootfs, layers, upper);
    pid_t init = start_init(rootfs, cgroup != NULL);
    if (cgroup)
        make_device_cgroup(cgroup, init);
    char pid_text[16];
    snprintf(pid_text, sizeof pid_text, "%d", init);
    for (char **arg = command; *arg; arg++)
        if (strcmp(*arg, "@PID@") == 0)
            *arg = pid_text;

    long ns;
    int status;
    struct rusage usage;
    int before = count_mounts(init);
    run(state_pipe(init, bundle), command, &ns, &status, &usage);
    int added = count_mounts(init) - before;
    if (file)
        take(init, rootfs, file, bundle);
    kill(init, SIGKILL);
    waitpid(init, NULL, 0);
    if (cgroup)
        remove_device_cgroup(cgroup);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    printf("%ld %ld %d %d\n", ns, usage.ru_maxrss, code, added);
    return 0;
}
