# SPDX-License-Identifier: Apache-2.0
"""podman, with storage of its own, running containers from a root filesystem (--rootfs). It reads
the hooks.d file itself and so decides by its `when`."""

import functools
import json
import os
import secrets
import subprocess
import time

from . import proc_directories
from .box import Box
from .hooks_d import write_for_all
from .host import LIMIT_S
from .runtime import Run, begin

# Raising its limits takes CAP_SYS_RESOURCE, which the tests do without.
LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")


@functools.cache
def is_version_4():
    return " version 4." in subprocess.run(["podman", "--version"], check=True, capture_output=True, text=True).stdout


def quoted(annotation):
    """podman 4.3 takes the option's value for a line of CSV, so a list of directories has to be quoted; podman 5 would
    take the quotes for a part of the key."""
    return f'"{annotation}"' if is_version_4() else annotation


class Podman:
    """podman on top of `runtime`, "runc" or "crun"."""

    def __init__(self, directory, runtime):
        directory.mkdir()
        self._directory, self.name = directory, runtime
        self.hooks = directory / "hooks.d"
        self.hooks.mkdir()

    def command(self, *args):
        directory = self._directory
        return ["podman", "--root", directory / "root", "--runroot", directory / "run",
                "--tmpdir", directory / "tmp", "--cgroup-manager", "cgroupfs",
                "--storage-driver", "vfs", "--events-backend", "file",
                "--runtime", self.name, "--hooks-dir", self.hooks, *args]

    def start(self, host, options, program):
        """Start a container; gives its Run."""
        nickname = secrets.token_hex(4)
        # The container's own cgroup is no part of these tests, and crun has none on hybrid hosts.
        cgroups = ["--cgroups=disabled"] if self.name == "crun" else []
        run = begin(host, nickname, self.command(
            "run", "--rm", "--network", "none", "--log-driver", "none", *LIMITS, *cgroups,
            "--name", nickname, *options, *program))
        return PodmanRun(run.name, run.process, run.journal, self._directory)

    def left_over(self):
        return []  # podman removes its containers in a process of its own, a moment later

    def clean(self, host):
        """Away with what a container that failed to start has left: mounts, and files."""
        host.run(self.command("rm", "--all", "--force", "--time", "0"), check=False)


class PodmanRun(Run):
    """A container on its way. Hooks know it by the id that podman gives it."""

    def __init__(self, name, process, journal, directory):
        super().__init__(name, process, journal)
        self._directory = directory

    def _ended(self):
        log = self._directory / "tmp/events/events.log"
        # Without it podman itself has failed, and the result says why.
        events = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        self.name = next((event["ID"] for event in map(json.loads, events)
                          if event.get("Name") == self.name), "none")
        # podman's own mounts go in a process that it leaves behind.
        deadline = time.monotonic() + LIMIT_S
        while any(self._directory.glob(f"root/*-containers/{self.name}")):
            assert time.monotonic() < deadline, "podman still has the container"
            time.sleep(0.01)


class PodmanBox(Box):
    """A container of podman's; of the bundle only the root filesystem and the annotations are used."""

    def __init__(self, *args):
        super().__init__(*args)
        self.options = []

    def volume(self, destination, source, *options):
        self.options += ["--volume", ":".join((f"{source}:{destination}", *filter(None, [
            ",".join(options)])))]

    def _tmpfs(self, destination):
        self.options += ["--tmpfs", f"{destination}:mode=755"]

    def environment(self, setting):
        self.options += ["--env", setting]

    def map_ids(self, *ranges):
        for inside, outside, size in ranges:
            self.options += ["--uidmap", f"{inside}:{outside}:{size}",
                             "--gidmap", f"{inside}:{outside}:{size}"]
        # As podman unpacks an image for such a container. It makes files of its own in /etc and /run.
        root = next(outside for inside, outside, _ in ranges if inside == 0)
        for path in [self.rootfs, *self.rootfs.rglob("*")]:
            os.lchown(path, root, root)

    def add_capability(self, name):
        self.options += ["--cap-add", name]

    def start(self, script):
        for number in range(self.times):
            self.hook.write(self.runtime.hooks / f"{number}.json", self._entry(), self.stage)
        for entry in proc_directories.hooks(self.in_proc):
            # podman takes hooks in the order of their files' names.
            write_for_all(self.runtime.hooks / "0-first.json", entry, self.stage)
        annotations = [word for pair in self.annotations.items()
                       for word in ("--annotation", quoted("=".join(pair)))]
        return self.runtime.start(self.host, [*annotations, *self.options],
                                  ["--rootfs", self.rootfs, "sh", "-c", script])
