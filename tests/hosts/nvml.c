// SPDX-License-Identifier: Apache-2.0
// Stands in for NVIDIA's library (NVML), with as much of it as nvidia-devices-nvml asks. What it answers stands behind it in
// its own file, as it sees no other one, and behind that the size of it, eight digits. Lines:
//
//     gpu ADDRESS INDEX COUNT                 a GPU, and how many instances it could have
//     mig ADDRESS INDEX GI CI UUID NAME…      one that it has
//     fail FUNCTION NUMBER                    that function gives this number
//     say TEXT…                               goes to where the answer goes, out of turn
//     do hang | stay | crash | exit | flood | look | end
//     try ATTACK [ARGUMENT]                   see nvml_attacks.c
//     show DIRECTORY                             what is in it
//
// It is loaded by a process without an environment, that may do nothing: `look` says what it finds.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "nvml_attacks.h"

enum { ANSWER = 3, SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, MOST = 64, DIGITS = 8 };

struct gpu {
    char address[64];
    unsigned index, count;
};

struct mig {
    char address[64], uuid[128], name[128];
    unsigned index, gi, ci;
};

static struct gpu gpus[MOST];
static struct mig migs[MOST];
static int gpu_count, mig_count;
static char failing[128];
static int failure;

static int saw_host; // when it was loaded

extern char **environ;

__attribute__((constructor)) static void be_loaded(void)
{
    saw_host = access("/etc/passwd", F_OK) == 0;
}

static void look(void)
{
    char line[256];
    int count = 0;
    while (environ != NULL && environ[count] != NULL)
        ++count;
    uid_t uids[3];
    gid_t gids[3];
    getresuid(&uids[0], &uids[1], &uids[2]);
    getresgid(&gids[0], &gids[1], &gids[2]);
    dprintf(ANSWER, "variables=%d uid=%u,%u,%u gid=%u,%u,%u groups=%d pid=%d", count, uids[0], uids[1],
            uids[2], gids[0], gids[1], gids[2], getgroups(0, NULL), getpid());
    FILE *status = fopen("/proc/self/status", "re");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        char *value = strchr(line, ':');
        if (value == NULL || (strncmp(line, "Cap", 3) != 0 && strncmp(line, "NoNewPrivs", 10) != 0 &&
                              strncmp(line, "Seccomp:", 8) != 0))
            continue;
        *value++ = '\0';
        dprintf(ANSWER, " %s=%lx", line, strtoul(value, NULL, 16));
    }
    if (status != NULL)
        fclose(status);
    DIR *files = opendir("/proc/self/fd");
    dprintf(ANSWER, " files=");
    for (struct dirent *entry = readdir(files); entry != NULL; entry = readdir(files)) {
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(files))
            dprintf(ANSWER, "%s,", entry->d_name);
    }
    closedir(files);
    struct rlimit limit = {1, 1};
    getrlimit(RLIMIT_FSIZE, &limit);
    dprintf(ANSWER, " may-write=%lu dumpable=%d saw-host=%d\n", (unsigned long)limit.rlim_max,
            prctl(PR_GET_DUMPABLE), saw_host);
}

static void act(const char *what)
{
    if (strcmp(what, "stay") == 0) {
        setsid();
        prctl(PR_SET_PDEATHSIG, 0);
    }
    while (strcmp(what, "hang") == 0 || strcmp(what, "stay") == 0)
        pause();
    if (strcmp(what, "crash") == 0)
        abort();
    if (strcmp(what, "exit") == 0 || strcmp(what, "end") == 0)
        _exit(what[1] == 'x' ? 0 : 3);
    for (int i = 0; strcmp(what, "flood") == 0 && i < 1 << 20; ++i)
        dprintf(ANSWER, "0000:0f:00.0 1 0 1 0 MIG-%d 1g.10gb\n", i);
    if (strcmp(what, "look") == 0)
        look();
}

static void read_line(const char *line)
{
    char word[64] = "", argument[PATH_MAX] = "";
    struct gpu *gpu = &gpus[gpu_count];
    struct mig *mig = &migs[mig_count];
    if (sscanf(line, "gpu %63s %u %u", gpu->address, &gpu->index, &gpu->count) == 3)
        ++gpu_count;
    else if (sscanf(line, "mig %63s %u %u %u %127s %127[^\n]", mig->address, &mig->index, &mig->gi, &mig->ci,
                    mig->uuid, mig->name) == 6)
        ++mig_count;
    else if (sscanf(line, "fail %127s %d", failing, &failure) == 2 || sscanf(line, "do %63s", word) == 1)
        act(word);
    else if (sscanf(line, "show %4095s", argument) == 1)
        show_directory(argument, ANSWER);
    else if (sscanf(line, "try %63s %4095s", word, argument) >= 1)
        attack(word, argument, ANSWER);
    else if (strncmp(line, "say ", 4) == 0)
        dprintf(ANSWER, "%s", line + 4);
}

static int result_of(const char *function)
{
    return strcmp(failing, function) == 0 ? failure : SUCCESS;
}

int nvmlInit_v2(void)
{
    char line[PATH_MAX + 64], digits[DIGITS + 1] = "";
    printf("a library may print what it likes\n");
    FILE *own = fopen("/proc/self/fd/4", "re");
    if (own == NULL || fseek(own, -DIGITS, SEEK_END) != 0 || fread(digits, 1, DIGITS, own) != DIGITS ||
        fseek(own, -DIGITS - atol(digits), SEEK_END) != 0)
        return 999;
    while (gpu_count < MOST && mig_count < MOST && fgets(line, sizeof line, own) != NULL)
        read_line(line);
    fclose(own);
    return result_of(__func__);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device)
{
    for (int i = 0; i < gpu_count; ++i) {
        if (strcmp(gpus[i].address, address) == 0) {
            *device = &gpus[i];
            return result_of(__func__);
        }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetIndex(void *device, unsigned *index)
{
    *index = ((struct gpu *)device)->index;
    return result_of(__func__);
}

#ifndef WITHOUT_INSTANCES // which drivers before 450 do not have
int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count)
{
    *count = ((struct gpu *)device)->count;
    return *count == 0 ? NOT_SUPPORTED : result_of(__func__);
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **instance)
{
    for (int i = 0; i < mig_count; ++i) {
        if (strcmp(migs[i].address, ((struct gpu *)device)->address) == 0 && migs[i].index == index) {
            *instance = &migs[i];
            return result_of(__func__);
        }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetGpuInstanceId(void *instance, unsigned *number)
{
    *number = ((struct mig *)instance)->gi;
    return result_of(__func__);
}

int nvmlDeviceGetComputeInstanceId(void *instance, unsigned *number)
{
    *number = ((struct mig *)instance)->ci;
    return result_of(__func__);
}
#endif

int nvmlDeviceGetUUID(void *instance, char *text, unsigned size)
{
    snprintf(text, size, "%s", ((struct mig *)instance)->uuid);
    return result_of(__func__);
}

int nvmlDeviceGetName(void *instance, char *text, unsigned size)
{
    snprintf(text, size, "%s", ((struct mig *)instance)->name);
    return result_of(__func__);
}
