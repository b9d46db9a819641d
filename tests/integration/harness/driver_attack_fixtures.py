# SPDX-License-Identifier: Apache-2.0
"""Fixtures of attacks on the driver's files: a directory of the host that must not be reached, and a container of an image
that is to be made hostile. A test file names this module in its `pytest_plugins`, after harness.driver_fixtures."""

import os
import tempfile
from pathlib import Path

import pytest

from harness import engines
from harness.bundle import Bundle
from harness.driver_attacks import NEWER, PARENTS
from harness.host import Host
from harness.ldcache import Chain
from harness.nvidia_container import CAPABILITIES, KEY
from harness.source import host_tree
from harness.turns import SPACES
from harness.unchanged import unchanged
from hosts.driver import LIB64, POINT
from hosts.nvidia import ONE, NvidiaHost

# Of this machine, where a path that led out of the root would end.
REAL = (POINT, "/nvidia", "/local", "/usr/bin/nvidia-smi", "/etc/vulkan", "/etc/OpenCL", "/etc/nvidia",
        "/tmp/nvidia-mps", "/run/nvidia-persistenced", "/lib/firmware/nvidia", "/usr/share/nvidia")


@pytest.fixture(name="outside")
def outside_fixture(scratch, stubs):
    """A directory of the host with all that the hook looks for in an image, and times to compare."""
    outside = scratch / "outside"
    for name in (*PARENTS, "nvidia/lib64", "local/nvidia/bin", "etc/vulkan/icd.d", "usr/bin", "tmp"):
        (outside / name).mkdir(parents=True, exist_ok=True)
    for directory in ("compat", "cuda/compat", "local/cuda/compat"):
        stubs.library(outside / directory / NEWER, "libcuda.so.1")
    (outside / "secret").write_text("of the host\n")

    with unchanged(outside, *REAL):
        yield outside


class Attacked:
    """A host with the whole driver, for all tests of a file."""

    def __init__(self, directory, driver):
        self.machine = NvidiaHost(directory / "machine", ONE)
        driver.copied(self.machine.path)
        self.host = Host("not-hybrid")
        (directory / "dev").mkdir()
        self.host.keep_journal(directory / "dev")


@pytest.fixture(name="attacked", scope="module")
def attacked_fixture(driver_of):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    with tempfile.TemporaryDirectory(prefix="attacked-") as directory:
        os.chmod(directory, 0o755)
        victim = Attacked(Path(directory), driver_of(LIB64))
        before = host_tree(victim.machine.path)
        try:
            yield victim
            assert host_tree(victim.machine.path) == before
        finally:
            victim.host.close()


@pytest.fixture(name="box", params=SPACES, ids=str)
def box_fixture(request, attacked, nv_hook, outside, scratch):  # pylint: disable=unused-argument
    """A busybox root of Debian's kind, with a GPU and all that the driver has."""
    engine = request.param
    runtime = engine.open(scratch / "runtime")
    box = Chain(attacked.host, runtime, Bundle(scratch / "box"), nv_hook,
                ["--sysroot", attacked.machine, "--log-level", "info"])
    for directory in ("/proc/driver", "/proc/driver/nvidia"):
        box.tmpfs(directory)
    if engine.mapped:
        box.map_ids(engines.MAP)
    box.annotations.update({KEY: "0", CAPABILITIES: "all"})
    for name in ("usr/share", "usr/local", "usr/lib/x86_64-linux-gnu", "run"):
        (box.rootfs / name).mkdir(parents=True)
    (box.rootfs / "lib").symlink_to("usr/lib")
    box.timeout = 20
    yield box
    runtime.clean(attacked.host)
