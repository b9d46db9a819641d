// SPDX-License-Identifier: Apache-2.0
// Opens what ROCm's libhsakmt opens, in its order, and says what that makes of it: a GPU whose render node is not there
// or closed by the device cgroup is passed over; any other error, above all EACCES, ends all of ROCm. A node without
// a driver (ENXIO) could be opened, and stands for one that has it.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int error_of(const char *path)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    const int error = fd < 0 && errno != ENXIO ? errno : 0;
    if (fd >= 0)
        close(fd);
    return error;
}

int main(void)
{
    char path[] = "/dev/dri/renderD128";
    int error = error_of("/dev/kfd");
    if (error != 0)
        return printf("/dev/kfd: %s\n", strerror(error)), 1;
    for (int minor = 128; minor < 256; ++minor) {
        snprintf(path, sizeof path, "/dev/dri/renderD%d", minor);
        error = error_of(path);
        if (error != 0 && error != ENOENT && error != EPERM)
            return printf("%s: %s\n", path, strerror(error)), 1;
        if (error != ENOENT)
            printf("renderD%d%s\n", minor, error == 0 ? "" : " passed over");
    }
    return 0;
}
