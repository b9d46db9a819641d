# SPDX-License-Identifier: Apache-2.0
"""What 'oci-gpu-hooks check' has drained is given to no container until it is given again."""

import shutil
from pathlib import Path

import pytest

from harness.admin import EXECDIR, Command
from harness.expect import started
from harness.leases import Container
from harness.nvidia_container import refused
from hosts.nvidia import EIGHT

pytest_plugins = ["harness.nvidia_fixtures"]

FAILED = 8
FIRST = EIGHT[0].address[:-2]


@pytest.fixture(name="check")
def check_fixture(machine, built, build_root):
    """A function that runs it, at first while GPU 0 has fallen off the bus, and its driver says so."""
    (machine.path / EXECDIR).mkdir(parents=True)
    shutil.copy(built / "hooks/nvidia-devices/nvidia-devices", machine.path / EXECDIR)
    command = Command(Path(build_root) / "admin/oci-gpu-hooks", machine)
    machine.bind("nvidia", EIGHT[0].address)
    machine.write("dev/kmsg", f"4,0,0,-;NVRM: Xid (PCI:{FIRST}): 79, GPU has fallen off the bus.\n")

    def check(falls=True, settle="10m"):
        if falls:
            machine.kill(EIGHT[0].address)
        done = command.run("check", "--drain", "--settle", settle)
        machine.revive(EIGHT[0].address)
        return done.returncode
    return check


def test_a_gpu_that_has_failed_is_given_to_nobody(nv_box, check, machine):
    assert check() == FAILED
    refused(nv_box("0").run(), 4, "drained by 'oci-gpu-hooks check'", "'Xid 79: the GPU has fallen off the bus'")
    for _ in range(3):
        nodes = started(nv_box("any:1").run("ls /dev")).split()
        assert f"nvidia{EIGHT[0].minor}" not in nodes
    machine.bind("nvidia", EIGHT[0].address)
    assert check(falls=False, settle="0s") == 0
    started(nv_box("0").run())


def test_who_has_it_keeps_it(nv_box, check, leases):
    container = Container(nv_box("0")).ready()
    assert check() == FAILED
    assert leases.rows("gpus", "state") == [("0", "running")]
    assert [drain["by"] for drain in leases.read()["drains"]] == ["oci-gpu-hooks check"]
    started(container.end())
