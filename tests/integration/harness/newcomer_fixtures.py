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

# In the place of the driver's program: names the GPUs whose nodes are there.
NVIDIA_SMI = """#!/bin/sh
number=0
{lines}
"""
ONE_GPU = """if [ -e {node} ]; then
    echo "GPU $number: NVIDIA Example 48 (UUID: {uuid})"
    number=$((number + 1))
fi"""


@pytest.fixture(name="gpus")
def gpus_fixture(scratch):
    host = NvidiaHost(scratch / "gpus", TWO, numbers=UNUSED)
    host.write("usr/bin/nvidia-smi", NVIDIA_SMI.format(
        lines="\n".join(ONE_GPU.format(node=gpu.node, uuid=gpu.uuid) for gpu in host.gpus)))
    (host.path / "usr/bin/nvidia-smi").chmod(0o755)
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
