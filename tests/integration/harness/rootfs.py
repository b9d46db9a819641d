# SPDX-License-Identifier: Apache-2.0
"""A busybox root filesystem: what a small image looks like once it is unpacked."""

import shutil
from pathlib import Path

BUSYBOX = Path("/bin/busybox")
# Those that scripts of the tests use: a link each for busybox's 270 would be most of a test's time.
APPLETS = ("cat", "chmod", "cp", "cut", "dd", "echo", "env", "false", "find", "grep", "head", "id",
           "ln", "ls", "mkdir", "mknod", "mount", "mv", "readlink", "rm", "rmdir", "sed", "sh",
           "sleep", "sort", "stat", "test", "touch", "true", "umount", "wc")
DIRECTORIES = ("bin", "dev", "etc", "proc", "root", "sys", "tmp", "usr/bin", "var")


def make(rootfs):
    """A fresh copy at `rootfs`, a directory that is not there yet. It has no /srv."""
    for directory in DIRECTORIES:
        (rootfs / directory).mkdir(parents=True)
    shutil.copy(BUSYBOX, rootfs / "bin/busybox")
    for applet in APPLETS:
        (rootfs / "bin" / applet).symlink_to("busybox")
    (rootfs / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n", encoding="ascii")
    (rootfs / "etc/group").write_text("root:x:0:\n", encoding="ascii")
    return rootfs
