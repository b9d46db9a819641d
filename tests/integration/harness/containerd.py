# SPDX-License-Identifier: Apache-2.0
"""containerd, with a daemon of its own on a test's host, and ctr, which takes a whole config.json."""

import shutil
import subprocess
import time
from pathlib import Path

from .docker import WITH_THE_TESTS
from .host import LIMIT_S
from .runtime import Runc, begin

CONFIG = """version = 2
root = "{directory}/root"
state = "{directory}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "{directory}/socket"
"""


PROJECT = Path(__file__).resolve().parents[3]


def programs(daemon="containerd"):
    """The directory of its executables: those of this machine or, if there are none, Debian's, which are not installed."""
    found = shutil.which(daemon)
    if found:
        return Path(found).parent
    subprocess.run([PROJECT / "tests/deps/daemons"], check=True, stdout=subprocess.DEVNULL)
    return PROJECT / "build/deps/daemons"


class Containerd:
    """The daemon. Its executables have to be found by PATH."""

    def __init__(self, host, directory):
        directory.mkdir()
        self._host = host
        self._directory, self._log = directory, directory / "log"
        (directory / "config.toml").write_text(CONFIG.format(directory=directory), encoding="utf-8")
        with open(self._log, "wb") as log:
            self._daemon = subprocess.Popen(
                [*WITH_THE_TESTS, *host.command(["containerd", "--config", directory / "config.toml"])],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + LIMIT_S
        while host.run(self.command("version"), check=False).returncode != 0:
            assert self._daemon.poll() is None and time.monotonic() < deadline, self._log.read_text("utf-8")
            time.sleep(0.1)

    def command(self, *words):
        return ["ctr", "--address", self._directory / "socket", *words]

    def close(self):
        for name in self._host.run(self.command("containers", "list", "--quiet")).stdout.split():
            self._host.run(self.command("tasks", "delete", "--force", name), check=False)
            self._host.run(self.command("containers", "delete", name), check=False)
        self._daemon.terminate()
        self._daemon.wait(LIMIT_S)


class Ctr(Runc):
    """What runs containers by that daemon. It never makes config.json itself."""

    name = "runc"  # below it

    def __init__(self, daemon):
        self._daemon = daemon

    def command(self, *args):
        command, *rest = args
        if command == "exec":
            option, user, name, *program = rest
            return self._daemon.command("tasks", "exec", "--exec-id", f"exec-{time.monotonic_ns()}", option, user,
                                        name, *program)
        return self._daemon.command(command, *rest)

    def start(self, host, bundle):
        name = bundle.directory.name + "-" + str(time.monotonic_ns())
        bundle.config["root"]["path"] = str(bundle.rootfs)
        bundle.config["linux"].setdefault("cgroupsPath", f"/ctr-{name}")
        bundle.write()
        return begin(host, name, self._daemon.command("run", "--config", bundle.directory / "config.json", name))

    def left_over(self):
        return []

    def clean(self, host):
        """The daemon does it when it is closed: it is gone when this is called."""
