# SPDX-License-Identifier: Apache-2.0
"""A node of Kubernetes: this machine with containerd, configured in /etc/containerd, and the hooks."""

import json
import shutil
import subprocess
import tomllib

from hosts import nvidia

from .containerd import programs

CONFIG, SPEC = "/etc/containerd/config.toml", "/etc/containerd/oci-gpu-hooks-gpu.json"
PLUGIN, PLUGIN_2 = "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"
DROP_INS = '["/etc/containerd/conf.d/*.toml"]'
FROM_MOUNTS = ("install", "--engine", "containerd", "nvidia-devices", "--from", "mounts")


def is_version_1():
    return " 1." in subprocess.run([programs() / "containerd", "--version"], check=True, capture_output=True,
                                   encoding="utf-8").stdout.replace(" v", " ")


class Node:
    """This machine with containerd and the hooks, for one mount namespace. Its containerd says which version it is."""

    def __init__(self, machine, files, command, scratch):
        self.machine, self.command = machine, command
        self.path = scratch / "node"
        for name in ("etc", "var/lib"):
            for part in ("upper", "work"):
                (self.path / name / part).mkdir(parents=True)
            machine.mount("-t", "overlay", "-o", f"lowerdir=/{name},upperdir={self.path / name}/upper,"
                          f"workdir={self.path / name}/work", "overlay", f"/{name}")
        (files.path / "usr/local/bin").mkdir(parents=True, exist_ok=True)
        shutil.copy(programs() / "containerd", files.path / "usr/local/bin")
        self.gpus = nvidia.NvidiaHost(scratch / "gpus", nvidia.TWO, numbers=nvidia.UNUSED)
        self.machine.run(["mkdir", "-p", "/etc/containerd"])

    def write(self, text, path=CONFIG):
        self.machine.run(["mkdir", "-p", path.rpartition("/")[0]])
        self.machine.run(["tee", path], input=text)

    def read(self, path=CONFIG):
        return self.machine.run(["cat", path]).stdout

    def run(self, *words):
        return self.machine.run([self.command, *words], check=False)

    def dump(self):
        """What containerd itself makes of its configuration."""
        return tomllib.loads(self.machine.run(["containerd", "--config", CONFIG, "config", "dump"]).stdout)

    def findings(self):
        done = self.run("doctor", "--format", "json")
        return [(each["severity"], each["text"], each["remedy"])
                for section in json.loads(done.stdout)["sections"] if section["title"].startswith("containerd")
                for each in section["findings"]]
