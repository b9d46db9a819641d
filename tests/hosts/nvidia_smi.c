// SPDX-License-Identifier: Apache-2.0
// Stands in for nvidia-smi, and for any other program that needs the driver. It opens what is named on its command
// line, or NVML and CUDA: a library by dlopen, and prints which file that was in the end, `NAME PATH`; a device, and a
// socket, and prints what that says. Where it fails: `NAME - REASON`.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void open_library(const char *name)
{
    char path[PATH_MAX];
    struct link_map *library = dlopen(name, RTLD_LAZY);
    if (library == NULL)
        printf("%s - %s\n", name, dlerror());
    else
        printf("%s %s\n", name, realpath(library->l_name, path));
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

static void open_path(const char *path)
{
    struct stat status;
    const int is_socket = stat(path, &status) == 0 && S_ISSOCK(status.st_mode);
    const int fd = is_socket ? connect_to(path) : open(path, O_RDWR);
    printf("%s %s\n", path, fd < 0 ? strerror(errno) : "open");
}

int main(int count, char **words)
{
    static char *usual[] = {"", "libnvidia-ml.so.1", "libcuda.so.1", "/dev/nvidiactl", NULL};
    for (char **word = count > 1 ? words + 1 : usual + 1; *word != NULL; ++word) {
        if (**word == '/')
            open_path(*word);
        else
            open_library(*word);
    }
    return 0;
}
