# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a host with podman and two GPUs that are made up, and nothing installed. Tests have a fixture `archive`, the
tarball."""

import shutil
import subprocess

import pytest

from hosts.nvidia import TWO, UNUSED, NvidiaHost

from . import rootfs
from .host import Host
from .podman import LIMITS

# In the place of the driver's program, which is no script: names the GPUs whose nodes are there.
NVIDIA_SMI = """
#include <stdio.h>
#include <unistd.h>
int main(void) {{
    const char *const gpus[][2] = {{{lines}}};
    int number = 0;
    for (unsigned i = 0; i < sizeof gpus / sizeof *gpus; ++i)
        if (access(gpus[i][0], F_OK) == 0)
            printf("GPU %d: NVIDIA Example 48 (UUID: %s)\\n", number++, gpus[i][1]);
}}
"""
ONE_GPU = '{{"{node}", "{uuid}"}}'


@pytest.fixture(name="gpus")
def gpus_fixture(scratch):
    host = NvidiaHost(scratch / "gpus", TWO, numbers=UNUSED)
    (host.path / "usr/bin").mkdir(parents=True, exist_ok=True)
    source = NVIDIA_SMI.format(lines=", ".join(ONE_GPU.format(node=gpu.node, uuid=gpu.uuid) for gpu in host.gpus))
    subprocess.run(["gcc", "-static", "-x", "c", "-o", host.path / "usr/bin/nvidia-smi", "-"], input=source, text=True,
                   check=True)
    return host


def show_gpus(host, gpus):
    """From now on they are this host's own, for whoever looks at it: what the driver shows, and its files."""
    for name in ("proc/driver", "proc/devices"):
        host.mount("--bind", gpus.path / name, f"/{name}")
    for name in ("usr/bin", "usr/lib64"):
        host.mount("-t", "overlay", "-o", f"lowerdir={gpus.path / name}:/{name}", "overlay", f"/{name}")


@pytest.fixture(name="shell")
def shell_fixture(archive, scratch, gpus):
    """A function that runs a line of a shell where nothing is installed yet but podman."""
    host = Host("not-hybrid")
    show_gpus(host, gpus)
    root = scratch / "host"
    shutil.copytree("/usr/share/containers", root / "usr/share/containers")
    for name in ("etc", "etc-work", "usr/local", "srv/datasets", "tools", "work", "var/lib"):
        (root / name).mkdir(parents=True)
    for name in ("usr/local", "srv", "usr/share/containers", "var/lib"):
        host.mount("--bind", root / name, f"/{name}")
    host.mount("-t", "overlay", "-o", f"lowerdir=/etc,upperdir={root}/etc,workdir={root}/etc-work", "overlay", "/etc")
    tools, work = root / "tools", root / "work"
    own = ["--root", scratch / "root", "--runroot", scratch / "run", "--tmpdir", scratch / "tmp", "--storage-driver",
           "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "file", "--runtime", "runc"]
    run = ["--network", "none", "--log-driver", "none", *LIMITS]
    (tools / "podman").write_text(f"#!/bin/sh\nshift\nexec /usr/bin/podman {' '.join(map(str, own))} run"
                                  f" {' '.join(run)} \"$@\"\n", encoding="utf-8")
    (tools / "podman").chmod(0o755)
    image = rootfs.make(scratch / "image")
    shutil.copy(archive, work)

    def run_line(line):
        line = line.replace("IMAGE", f"--rootfs {image}")
        return host.run(["sh", "-c", f"cd {work}; {line}"], check=False, stdin=subprocess.DEVNULL,
                        env={"PATH": f"{tools}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"})

    yield run_line
    host.close()
