# SPDX-License-Identifier: Apache-2.0
"""podman without root: no node can be made, so the host's is mounted, if the user may open it."""

import os

import pytest

from harness.bundle import Bundle
from harness.expect import started, told
from harness.nvidia_container import ALLOWED, KEY, PROBE, given, probed, refused
from harness.rootless import RootlessBox, RootlessPodman, add_user
from harness.source import tree
from hosts import nvml
from hosts.nvidia import CAPS, MAJOR, PARAMS, UVM, gi_minor

pytest_plugins = ["harness.nvidia_fixtures"]

SHOW = f"{PROBE} probe /dev/nvidia*"


@pytest.fixture(name="box")
def box_fixture(nv_host, nv_hook, machine, scratch):
    host = nv_host("v2")
    os.chmod(host.path("/dev/log"), 0o666)
    add_user(host, scratch)
    podman = RootlessPodman(scratch / "podman")
    box = RootlessBox(host, podman, Bundle(scratch / "box"), nv_hook,
                      ["--sysroot", machine, "--log-level", "info"])
    box.annotations[KEY] = "1"
    yield box
    podman.clean(host)


def test_the_hosts_nodes_open(box, machine):
    """With owner and mode that they have there; and /proc shows the one GPU."""
    for directory in ("/proc/driver", "/proc/driver/nvidia"):
        box.tmpfs(directory)
    before = tree(machine.path)
    result = box.run(f"{SHOW}; echo --; cd /proc/driver/nvidia; ls gpus; cat params")
    nodes, proc = started(result).split("--\n")
    expected = given(machine.gpus[1])
    seen = probed(nodes)
    assert {path: (each.mode, each.number, each.said) for path, each in seen.items()} == {
        path: ("666", each.number, ALLOWED) for path, each in expected.items()}
    assert proc == machine.gpus[1].address + "\n" + PARAMS.replace("Files: 1", "Files: 0")
    assert tree(machine.path) == before
    told(result, "device cgroup")


def test_an_instance_of_a_gpu(box, machine):
    """The driver's mode of its nodes is 0444: they are there to be read."""
    machine.add_instance(1, 1, 0)
    outer = gi_minor(machine.gpus[1], 1)
    for minor in (outer, outer + 1):
        machine.node(f"dev/nvidia-caps/nvidia-cap{minor}", CAPS, minor, 0o444)
    seen = probed(started(box.run(f"{PROBE.replace('<>', '<')} probe /dev/nvidia-caps/*")))
    assert {path: (each.mode, each.number, each.said) for path, each in seen.items()} == {
        f"/dev/nvidia-caps/nvidia-cap{minor}": ("444", (CAPS, minor), ALLOWED) for minor in (outer, outer + 1)}
    machine.node(f"dev/nvidia-caps/nvidia-cap{outer}", CAPS, outer, 0o400)
    refused(box.run("true"), 6, f"nvidia-cap{outer}'", "give it mode 0444")


def test_in_a_further_user_namespace_the_hosts_nodes_open_too(box, machine):
    """podman's own is not the container's then; in neither can a node be made."""
    box.options.append("--userns=keep-id")
    seen = probed(started(box.run(SHOW)))
    assert {path: (each.number, each.said) for path, each in seen.items()} == {
        path: (each.number, ALLOWED) for path, each in given(machine.gpus[1]).items()}


def test_a_node_that_the_host_lacks_cannot_be_made(box, machine):
    (machine.path / "dev/nvidia-uvm").unlink()
    refused(box.run(SHOW), 6, f"'{machine}/dev/nvidia-uvm'", "no ")


@pytest.mark.parametrize("mode", [0o600, 0o444, 0o660])
def test_a_node_that_the_user_may_not_open(box, machine, mode):
    """It is said what has to be done on the host."""
    machine.node("dev/nvidia2", MAJOR, 2, mode)
    refused(box.run(SHOW), 6, f"'{machine}/dev/nvidia2'", "may not open", f"{mode:04o}", "group")


def test_a_forged_node_is_refused_here_too(box, machine):
    machine.node("dev/nvidia-uvm", UVM, 1)
    refused(box.run(SHOW), 6, f"'{machine}/dev/nvidia-uvm'", f"{UVM}:0")


def test_an_instance_by_its_librarys_name(box, machine, tmp_path_factory):
    """The program that asks is nobody of the user's namespace."""
    parted = machine.gpus[1]
    machine.add_instance(1, 1, 0)
    minors = [gi_minor(parted, 1) + n for n in range(2)]
    for minor in minors:
        machine.node(f"dev/nvidia-caps/nvidia-cap{minor}", CAPS, minor, 0o444)
    library = nvml.Nvml(machine, nvml.build(tmp_path_factory.mktemp("nvml")))
    library.says(nvml.gpu(1, parted), nvml.instance(parted, 0, "1/0", "MIG-5a1c0de0-1111-5222-8333-0123456789a0"))
    box.annotations[KEY] = "1:0"
    out = started(box.run("ls /dev/nvidia-caps"))
    assert out.split() == sorted(f"nvidia-cap{minor}" for minor in minors)
    library.says("do look", "do end")
    refused(box.run("true"), 6, "uid=65534,65534,65534", "groups=0", "saw-host=0")
