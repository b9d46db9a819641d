# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of amd-kfd; a test file names this module in its `pytest_plugins`, after that of
nvidia-devices, of which it takes the host that containers run on."""

import shutil
import subprocess
from pathlib import Path

import pytest

from harness.boxes import boxes, by_hand, planned
from harness.hooks_d import HookFile
from hosts.amd import AmdHost


@pytest.fixture(scope="session")
def amd_hook(built):
    return HookFile(built / "oci-hooks.d/21-amd-kfd.json", built / "hooks/amd-kfd/amd-kfd")


@pytest.fixture(scope="session")
def hsakmt_probe(tmp_path_factory):
    """The program that opens what ROCm would, for any image."""
    program = tmp_path_factory.mktemp("hsakmt") / "hsakmt_probe"
    source = Path(__file__).resolve().parents[1] / "hsakmt_probe.c"
    subprocess.run(["gcc", "-static", "-O1", "-Wall", "-Werror", "-o", program, source], check=True)
    return program


@pytest.fixture
def amd_machine(scratch, request):
    """What the hook takes for its host: a GPU, and one that is a part of the CPU; or another by on_host()."""
    return AmdHost(scratch / "machine", **getattr(request, "param", {}))


def add_user(box):
    """The image knows a user of the id 1000, in no group of the host's."""
    with open(box.rootfs / "etc/passwd", "a", encoding="ascii") as passwd:
        passwd.write("user:x:1000:1000::/:/bin/sh\n")


@pytest.fixture
def amd_box(nv_host, amd_hook, amd_machine, hsakmt_probe, scratch):
    """A function that makes a container with the hook, see harness.boxes. When all of them have run, no node of the host
    may be other than before."""
    before = []

    def prepare(box):
        shutil.copy(hsakmt_probe, box.rootfs / "bin")
        add_user(box)
        before[:] = [amd_machine.state()]

    with boxes(nv_host, amd_hook, ["--sysroot", amd_machine, "--log-level", "info"], scratch, prepare) as make:
        yield make
    assert not before or amd_machine.state() == before[0]


@pytest.fixture
def amd_by_hand(amd_hook, amd_machine, scratch):
    return by_hand(amd_hook, amd_machine, scratch)


@pytest.fixture
def amd_plan(amd_by_hand):
    return planned(amd_by_hand)
