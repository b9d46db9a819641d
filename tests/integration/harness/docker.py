# SPDX-License-Identifier: Apache-2.0
"""docker, with a daemon of its own on a test's host. It takes the hooks by CDI specifications, from 25 on, and by its flag
--gpus."""

import contextlib
import json
import re
import subprocess
import time

from .host import LIMIT_S
from .rootless import NAME
from .runtime import Result

IMAGE = "image"
WITH_THE_TESTS = ("setpriv", "--pdeathsig", "TERM")  # a daemon ends when these do


def version(host):
    """Of dockerd, as numbers."""
    return tuple(map(int, re.findall(r"\d+", host.run(["dockerd", "--version"]).stdout)[:3]))


class Docker:
    """A daemon with its data in `directory`; `mapped` gives each container the user namespace of the user in
    harness.rootless."""

    def __init__(self, host, directory, mapped=False):
        directory.mkdir()
        self._host, self._socket = host, f"unix://{directory}/docker.sock"
        settings = {"hosts": [self._socket], "bridge": "none", "iptables": False, "ip6tables": False, "storage-driver": "vfs",
                    "exec-opts": ["native.cgroupdriver=cgroupfs"], "pidfile": str(directory / "pid"),
                    "data-root": str(directory / "data"), "exec-root": str(directory / "exec")}
        if version(host)[0] >= 25:
            settings |= {"features": {"cdi": True}, "cdi-spec-dirs": [str(directory / "cdi")]}
        if mapped:
            settings["userns-remap"] = NAME
        (directory / "daemon.json").write_text(json.dumps(settings), encoding="utf-8")
        self.specs = directory / "cdi"
        self.specs.mkdir()
        self._log = directory / "log"
        with open(self._log, "wb") as log:
            self._daemon = subprocess.Popen(
                [*WITH_THE_TESTS, *host.command(["dockerd", "--config-file", directory / "daemon.json"])],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._wait_until_it_answers()

    def _wait_until_it_answers(self):
        deadline = time.monotonic() + LIMIT_S
        while self.call("version", check=False).returncode != 0:
            assert self._daemon.poll() is None and time.monotonic() < deadline, self._log.read_text("utf-8")
            time.sleep(0.1)

    def call(self, *words, check=True):
        return self._host.run(["docker", "--host", self._socket, *words], check=check)

    def add_image(self, rootfs):
        """The one image that run() takes."""
        self._host.run(["sh", "-ec", 'tar -C "$0" -c . | docker --host "$1" import - "$2"',
                        rootfs, self._socket, IMAGE])

    def run(self, devices, script, *options):
        """Runs a container that has these CDI devices; gives a Result, without what the hooks said to syslog."""
        wanted = [word for device in devices for word in ("--device", device)]
        done = self.call("run", "--network", "none", *wanted, *options, IMAGE, "sh", "-c", script, check=False)
        return Result("", done.returncode, done.stdout, done.stderr)

    @contextlib.contextmanager
    def alive(self, devices, *options):
        """A container that goes on until the block ends; gives its name."""
        name = "alive"
        result = self.run(devices, "exec sleep 1000", "--detach", "--init=false", "--name", name, *options)
        assert result.code == 0, result.err
        yield name
        self.call("rm", "--force", name)

    def exec(self, name, user, script):
        return self.call("exec", "--user", f"{user}:{user}", name, "sh", "-c", script).stdout

    def close(self):
        names = self.call("ps", "--all", "--quiet", check=False).stdout.split()
        if names:
            self.call("rm", "--force", *names, check=False)
        # Its containerd ends with it.
        self._daemon.terminate()
        self._daemon.wait(LIMIT_S)
