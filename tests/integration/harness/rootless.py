# SPDX-License-Identifier: Apache-2.0
"""podman as an ordinary user, with crun. The user exists on one host alone."""

import os
import signal
import subprocess

from .podman import Podman, PodmanBox

NAME, UID, FIRST = "hooktest", 54321, 600000


def add_user(host, directory):
    """Give a host a user who has ranges of ids for user namespaces: files mounted over those in /etc."""
    lines = {"passwd": f"{NAME}:x:{UID}:{UID}::{directory}:/bin/sh", "group": f"{NAME}:x:{UID}:",
             "subuid": f"{NAME}:{FIRST}:65536", "subgid": f"{NAME}:{FIRST}:65536"}
    (directory / "etc").mkdir()
    for name, line in lines.items():
        with open(f"/etc/{name}", encoding="utf-8") as original:
            text = original.read()
        (directory / "etc" / name).write_text(f"{text.rstrip()}\n{line}\n", encoding="utf-8")
        host.mount("--bind", directory / "etc" / name, f"/etc/{name}")


class RootlessPodman(Podman):
    """podman of that user, with its home in `directory`."""

    def __init__(self, directory):
        super().__init__(directory, "crun")
        self._home = directory / "home"
        (self._home / "run").mkdir(parents=True)
        for path in [directory, *directory.rglob("*")]:
            os.chown(path, UID, UID)

    def command(self, *args):
        return ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups",
                "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", f"HOME={self._home}",
                f"XDG_RUNTIME_DIR={self._home}/run", *super().command(*args)]

    def clean(self, host):
        super().clean(host)
        # podman's pause process, which keeps its user namespace for the next command.
        for path in self._directory.rglob("pause.pid"):
            os.kill(int(path.read_text(encoding="ascii")), signal.SIGKILL)


class RootlessBox(PodmanBox):
    """A container of that user's, whose files are the image's."""

    def __init__(self, *args):
        super().__init__(*args)
        subprocess.run(["chown", "-R", f"{UID}:{UID}", self.rootfs], check=True)
