# SPDX-License-Identifier: Apache-2.0
"""podman without root: no node can be made, so the host's are mounted, if the user may open them; and without a device
cgroup ROCm needs all GPUs of the host, or none."""

import os
import shutil

import pytest

from harness.amd_container import KEY, LINKS, SHOW, given, linked, on_host, refused
from harness.bundle import Bundle
from harness.expect import started, told
from harness.nvidia_container import probed
from harness.rootless import UID, RootlessBox, RootlessPodman, add_user
from hosts.amd import DRM, KFD, RAPHAEL, XT

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

VIDEO = 44  # as Debian numbers the group "video"
LOOK = f"{SHOW}; echo --; hsakmt_probe; echo --; {LINKS}"


def open_to_all(machine):
    """As AMD's own rules for udev have it."""
    for path in (machine.path / "dev").rglob("*"):
        if not path.is_dir():
            path.chmod(0o666)


@pytest.fixture(name="box")
def box_fixture(nv_host, amd_hook, amd_machine, hsakmt_probe, scratch):
    host = nv_host("v2")
    os.chmod(host.path("/dev/log"), 0o666)
    add_user(host, scratch)
    open_to_all(amd_machine)
    podman = RootlessPodman(scratch / "podman")
    box = RootlessBox(host, podman, Bundle(scratch / "box"), amd_hook,
                      ["--sysroot", amd_machine, "--log-level", "info"])
    shutil.copy(hsakmt_probe, box.rootfs / "bin")
    os.chmod(box.rootfs / "bin/hsakmt_probe", 0o755)
    yield box
    podman.clean(host)


def test_all_of_them(box, amd_machine):
    """With owner and mode that they have on the host, where nothing changes."""
    box.annotations[KEY] = "0,1"
    before = amd_machine.state()
    result = box.run(LOOK)
    nodes, rocm, links = started(result).split("--\n")
    seen, expected = probed(nodes), given(XT, RAPHAEL)
    assert {path: (each.mode, each.number, each.said) for path, each in seen.items()} == {
        path: (each.mode, each.number, each.said) for path, each in expected.items()}
    assert rocm == "renderD128\nrenderD129\n"
    assert links == linked(XT, RAPHAEL)
    assert amd_machine.state() == before
    told(result, "device cgroup")


def test_some_of_several(box):
    """Whichever way they are asked for."""
    for value in ("0", "all", "any:1"):
        box.annotations[KEY] = value
        refused(box.run(LOOK), 6, "1 of 2 AMD GPUs", "device cgroup", "rootless", "'0-1'")


@on_host([XT])
@pytest.mark.parametrize("node, number, mode", [("kfd", (KFD, 0), 0o660), ("dri/renderD129", (DRM, 129), 0o600),
                                                ("dri/renderD129", (DRM, 129), 0o444), ("dri/card2", (DRM, 2), 0o660)])
def test_a_node_that_the_user_may_not_open(box, amd_machine, node, number, mode):
    """ROCm would end there for all GPUs. It is said what has to be done on the host: the line to run."""
    amd_machine.node(f"dev/{node}", *number, mode)
    os.chown(amd_machine.path / f"dev/{node}", 0, VIDEO)
    box.annotations[KEY] = "all"
    before = amd_machine.state()
    message = refused(box.run(LOOK), 6, f"'{amd_machine}/dev/{node}'", "may not open", f"{mode:04o}")
    assert "group" in message and ("usermod -aG" in message or mode != 0o660), message
    assert amd_machine.state() == before


class InGroup(RootlessPodman):
    """podman of the same user, who is in the group of the nodes, too."""

    def command(self, *args):
        return [f"--groups={VIDEO}" if word == "--clear-groups" else word for word in super().command(*args)]


@on_host([XT])
@pytest.mark.parametrize("keep", [True, False])
def test_nodes_that_the_users_group_may_open(box, amd_machine, scratch, keep):
    """A container that leaves the group does not start with nodes on which ROCm would end."""
    for path in (amd_machine.path / "dev").rglob("*"):
        if not path.is_dir():
            os.chown(path, 0, VIDEO)
            path.chmod(0o660)
    box.runtime = InGroup(scratch / "another")
    if keep:
        box.options += ["--group-add", "keep-groups"]
    box.annotations[KEY] = "all"
    result = box.run(LOOK)
    box.runtime.clean(box.host)
    if keep:
        assert started(result).split("--\n")[1] == "renderD129\n"
    else:
        refused(result, 6, "keep-groups")


@on_host([XT])
def test_a_node_of_the_users_own(box, amd_machine):
    """Only the user may open it; a container's root is that user."""
    path = amd_machine.path / "dev/dri/renderD129"
    os.chown(path, UID, UID)
    path.chmod(0o600)
    box.annotations[KEY] = "all"
    assert started(box.run(LOOK)).split("--\n")[1] == "renderD129\n"


@on_host([XT])
@pytest.mark.parametrize("thing", ["missing", "forged"])
def test_a_node_that_the_host_has_not(box, amd_machine, thing):
    """None can be made, and none of another number is taken for it."""
    amd_machine.remove("dev/dri/renderD129")
    if thing == "forged":
        amd_machine.node("dev/dri/renderD129", DRM, 128)
    box.annotations[KEY] = "0"
    refused(box.run(LOOK), 3 if thing == "missing" else 6, f"'{amd_machine}/dev/dri/renderD129'")
