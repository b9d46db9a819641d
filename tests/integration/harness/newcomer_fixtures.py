# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a host with podman and two GPUs that are made up, and nothing installed. Tests have a fixture `archive`, the
tarball."""

import shutil
import subprocess
from contextlib import contextmanager

import pytest

from hosts.nvidia import TWO, UNUSED, NvidiaHost

from . import rootfs
from .debian_host import RELEASES, DebianHost, plain
from .host import Host
from .newcomer import Newcomer

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


# Of podman, as tests have to have it; README.md shows it with runc.
FILES = {
    "containers.conf": """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
log_driver = "none"
netns = "none"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
""",
    "storage.conf": """
[storage]
driver = "vfs"
graphroot = "/var/lib/containers/storage"
runroot = "/run/containers/storage"
""",
}


@contextmanager
def newcomer_on(host, scratch, archive):
    """Somebody in a directory with the archive, on a host with podman and what README.md says of /srv."""
    host.run(["mkdir", "-p", "/etc/containers", "/srv/datasets", "/srv/models", "/srv/outputs_writable"])
    for name, text in FILES.items():
        host.run(["tee", f"/etc/containers/{name}"], input=text)
    shutil.copy(archive, scratch / "work")
    yield Newcomer(host, scratch / "work", {"IMAGE": f"--rootfs {rootfs.make(scratch / 'image')}"},
                   PATH="/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                   PODMAN_IGNORE_CGROUPSV1_WARNING=1)  # podman 5 says at each start that version 1 is old
    host.run(["podman", "rm", "--all", "--force", "--time", "0"], check=False)


@pytest.fixture(name="newcomer")
def newcomer_fixture(archive, scratch, gpus):
    """Of this machine nothing is written, and nothing is installed on it but podman."""
    host = Host("not-hybrid")
    show_gpus(host, gpus)
    root = scratch / "host"
    shutil.copytree("/usr/share/containers", root / "usr/share/containers")
    for name in ("etc", "etc-work", "run", "usr/local", "srv", "var/lib"):
        (root / name).mkdir(parents=True)
    (scratch / "work").mkdir()
    for name in ("run", "srv", "usr/local", "usr/share/containers", "var/lib"):
        host.mount("--bind", root / name, f"/{name}")
    host.mount("-t", "overlay", "-o", f"lowerdir=/etc,upperdir={root}/etc,workdir={root}/etc-work", "overlay", "/etc")
    with newcomer_on(host, scratch, archive) as newcomer:
        yield newcomer
    host.close()


@pytest.fixture(name="release", params=RELEASES)
def release_fixture(request, scratch, gpus, archive):
    """Somebody on a host with podman and two GPUs, on which nothing is installed."""
    for name in ("image", "work"):
        (scratch / name).mkdir()
    host = DebianHost(plain(request.param), scratch / "host", scratch / "gpus", scratch / "work", scratch / "image")
    host.run(["sh", "-ec", "apt-get -q update; apt-get -q -y install --no-install-recommends podman runc xz-utils"])
    show_gpus(host, gpus)
    with newcomer_on(host, scratch, archive) as newcomer:
        yield newcomer
    host.close()
