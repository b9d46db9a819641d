// SPDX-License-Identifier: Apache-2.0
//
// One round of the mount-srv benchmark: makes a container's init process as runc has it when it calls the
// createRuntime hooks, runs one command with the OCI state on stdin, takes its time as a whole process,
// and takes everything down again. Being small and static matters twice: starting the command costs the
// same as from a runtime's thin child, and the peak memory of a process begins with that of its parent.
//
// usage: launch BUNDLE ROOTFS COMMAND [ARG]...
//
// An ARG that is exactly `@PID@` becomes the init's pid. ROOTFS is an empty tmpfs with a folder `srv`, in the
// init's mount namespace bind-mounted on itself; so each round starts without any placeholder.
// Prints: nanoseconds, peak memory in KiB, exit status, mounts that the command added to the container.

#define _GNU_SOURCE
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void must(int result, const char *what)
{
    if (result < 0)
        err(1, "%s", what);
}

static _Noreturn void be_init(const char *rootfs, int ready)
{
    must(prctl(PR_SET_PDEATHSIG, SIGKILL), "PR_SET_PDEATHSIG");
    must(unshare(CLONE_NEWNS), "unshare");
    must(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL), "making / a slave");
    must(mount(rootfs, rootfs, NULL, MS_BIND | MS_REC, NULL), "binding the rootfs");
    int dir = open(rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
    must(dir, rootfs);
    must(mkdirat(dir, "srv", 0755), "mkdirat");
    must((int)write(ready, "", 1), "write");
    for (;;)
        pause();
}

// The host's side of a round, private to it: the rootfs is there before the container's namespace, as an
// engine has it, so that a hook can compare the folder inside with the one outside.
static void make_rootfs(const char *rootfs)
{
    must(unshare(CLONE_NEWNS), "unshare");
    must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "making / private");
    must(mount("tmpfs", rootfs, "tmpfs", 0, "mode=755"), "mounting the rootfs");
}

static pid_t start_init(const char *rootfs)
{
    int ready[2];
    char byte;
    must(pipe2(ready, O_CLOEXEC), "pipe2");
    pid_t pid = fork();
    must(pid, "fork");
    if (pid == 0)
        be_init(rootfs, ready[1]);
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
                "{\"ociVersion\":\"1.0.2-dev\",\"id\":\"mount-srv-benchmark\",\"status\":\"creating\","
                "\"pid\":%d,\"bundle\":\"%s\",\"annotations\":{\"io.oci-gpu-hooks.mount-srv\":\"all\"}}",
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
    if (argc < 4)
        errx(2, "usage: %s BUNDLE ROOTFS COMMAND [ARG]...", argv[0]);
    make_rootfs(argv[2]);
    pid_t init = start_init(argv[2]);
    char pid_text[16];
    snprintf(pid_text, sizeof pid_text, "%d", init);
    for (char **arg = argv + 3; *arg; arg++)
        if (strcmp(*arg, "@PID@") == 0)
            *arg = pid_text;

    long ns;
    int status;
    struct rusage usage;
    int before = count_mounts(init);
    run(state_pipe(init, argv[1]), argv + 3, &ns, &status, &usage);
    int added = count_mounts(init) - before;
    kill(init, SIGKILL);
    waitpid(init, NULL, 0);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    printf("%ld %ld %d %d\n", ns, usage.ru_maxrss, code, added);
    return 0;
}
