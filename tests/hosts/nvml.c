// SPDX-License-Identifier: Apache-2.0
// Stands in for NVIDIA's library (NVML), with as much of it as nvidia-devices-nvml asks. What it answers stands in a file
// beside it, FILE.says: lines
//
//     gpu ADDRESS INDEX COUNT                 a GPU, and how many instances it could have
//     mig ADDRESS INDEX GI CI UUID NAME…      one that it has
//     fail FUNCTION NUMBER                    that function gives this number
//     say TEXT…                               goes to where the answer goes, out of turn
//     do hang | crash | exit | flood | leave | look
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
#include <unistd.h>

enum { ANSWER = 3, SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, MOST = 64 };

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

extern char **environ;

static void look(void)
{
    char line[256];
    int count = 0;
    while (environ != NULL && environ[count] != NULL)
        ++count;
    dprintf(ANSWER, "variables=%d uid=%d", count, getuid());
    FILE *status = fopen("/proc/self/status", "re");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        char *value = strchr(line, ':');
        if (value == NULL || (strncmp(line, "Cap", 3) != 0 && strncmp(line, "NoNewPrivs", 10) != 0))
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
    char path[] = "/tmp/nvml-look-XXXXXX";
    int file = mkstemp(path);
    signal(SIGXFSZ, SIG_IGN);
    const ssize_t written = write(file, "x", 1);
    dprintf(ANSWER, " wrote=%zd,%s", written, strerrorname_np(errno));
    unlink(path);
    dprintf(ANSWER, " leads=%d\n", getpgrp() == getpid());
}

static void act(const char *what)
{
    if (strcmp(what, "hang") == 0 || strcmp(what, "leave") == 0) {
        if (what[0] == 'l' && fork() != 0)
            return;
        for (;;)
            pause();
    }
    if (strcmp(what, "crash") == 0)
        abort();
    if (strcmp(what, "exit") == 0)
        _exit(0);
    for (int i = 0; strcmp(what, "flood") == 0 && i < 1 << 20; ++i)
        dprintf(ANSWER, "0000:0f:00.0 1 0 1 0 MIG-%d 1g.10gb\n", i);
    if (strcmp(what, "look") == 0)
        look();
}

static void read_line(const char *line)
{
    char word[64] = "";
    struct gpu *gpu = &gpus[gpu_count];
    struct mig *mig = &migs[mig_count];
    if (sscanf(line, "gpu %63s %u %u", gpu->address, &gpu->index, &gpu->count) == 3)
        ++gpu_count;
    else if (sscanf(line, "mig %63s %u %u %u %127s %127[^\n]", mig->address, &mig->index, &mig->gi, &mig->ci,
                    mig->uuid, mig->name) == 6)
        ++mig_count;
    else if (sscanf(line, "fail %127s %d", failing, &failure) == 2 || sscanf(line, "do %63s", word) == 1)
        act(word);
    else if (strncmp(line, "say ", 4) == 0)
        dprintf(ANSWER, "%s", line + 4);
}

static int result_of(const char *function)
{
    return strcmp(failing, function) == 0 ? failure : SUCCESS;
}

int nvmlInit_v2(void)
{
    char path[PATH_MAX + 8] = "", line[1024];
    printf("a library may print what it likes\n");
    if (readlink("/proc/self/fd/4", path, PATH_MAX) < 0)
        return 999;
    FILE *says = fopen(strcat(path, ".says"), "re");
    if (says == NULL)
        return 999;
    while (gpu_count < MOST && mig_count < MOST && fgets(line, sizeof line, says) != NULL)
        read_line(line);
    fclose(says);
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
