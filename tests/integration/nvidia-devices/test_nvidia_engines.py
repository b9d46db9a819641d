# SPDX-License-Identifier: Apache-2.0
"""A GPU of eight under every engine: its nodes open for root, for a user that an entrypoint drops to, and for
a later exec; the other GPUs stay closed where the engine has device rules, and /proc shows the one alone."""

import pytest

from harness import engines
from harness.expect import started, told
from harness.gpu_cells import CELLS
from harness.mounts import parse
from harness.nvidia_container import ALLOWED, DENIED, PROBE, alive, given, node, probed, without_proc_driver
from hosts.nvidia import CLOSED, MAJOR, PARAMS, REGISTRY

pytest_plugins = ["harness.nvidia_fixtures"]

NODES = "/dev/nvidia* /dev/other"


def other(box, cell, machine, gpu):
    """The container has a node of this GPU from elsewhere, at /dev/other; gives what opening it must say."""
    box.volume("/dev/other", f"{machine}{gpu.node}", *(["dev"] if cell.engine.podman else []))
    return DENIED if cell.rules else ALLOWED


SHOW = f"""
probe {NODES}; echo --
su user -c '{PROBE} probe {NODES}'; echo --
cd /proc/driver/nvidia; find . | sort; echo --
cat version registry params gpus/*/information; echo --
cat /proc/self/mountinfo; echo tries
for file in x gpus/x gpus/*/information version; do touch $file 2>&1; done"""


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_one_gpu_of_eight(nv_box, machine, cell):
    """GPU 1, which is /dev/nvidia2. By its index it would be /dev/nvidia1, which is GPU 6."""
    gpu, stranger = machine.gpus[1], machine.gpus[6]
    assert (gpu.minor, stranger.minor) == (2, 1)
    box = cell.box(nv_box, "1")
    closed = other(box, cell, machine, stranger)
    with alive(box, SHOW) as container:
        root, user, names, texts, mounts = container.out.split("--\n")
        later = {who: probed(container.exec(who, f"{PROBE} probe {NODES}")) for who in (0, 1000)}
    expected = given(gpu)
    for seen in (probed(root), probed(user), *later.values()):
        assert seen.pop("/dev/other").said == closed
        assert seen == expected
    assert names.split() == [".", "./gpus", f"./gpus/{gpu.address}", f"./gpus/{gpu.address}/information",
                             "./params", "./registry", "./version"]
    assert texts == (CLOSED + REGISTRY + PARAMS.replace("ModifyDeviceFiles: 1", "ModifyDeviceFiles: 0")
                     + gpu.information())
    table, tries = mounts.split("tries\n")
    found = [mount for mount in parse(table) if mount.source == "oci-gpu-hooks" or "/gpus/" in mount.point]
    points = {mount.point for mount in found}
    assert {"/proc/driver/nvidia", f"/proc/driver/nvidia/gpus/{gpu.address}"} <= points
    for mount in found:
        if mount.point.startswith("/proc"):
            assert {"ro", "nosuid", "nodev"} <= mount.options, mount
            assert "noexec" in mount.options or "/gpus/" in mount.point, mount
    assert tries.count("Read-only file system\n") == 4, tries


@pytest.mark.parametrize("cell", [CELLS[0], CELLS[5]], ids=str)
def test_all_of_them(nv_box, machine, cell):
    box = cell.box(nv_box, "all")
    result = box.run(f"{PROBE} probe /dev/nvidia*; ls /proc/driver/nvidia/gpus")
    *nodes, = started(result).splitlines()
    assert nodes[-8:] == [gpu.address for gpu in machine.gpus]
    assert probed("\n".join(nodes[:-8])) == given(*machine.gpus)


@pytest.mark.parametrize("cell", [CELLS[1], CELLS[5], CELLS[6]], ids=str)
def test_a_container_that_did_not_ask_has_nothing_then_and_later(nv_box, machine, cell):
    """Nor when another one is given the GPU whose node it has."""
    gpu = machine.gpus[0]
    without = cell.box(nv_box, None)
    without.loader = "concourse"
    closed = other(without, cell, machine, gpu)
    show = "echo /dev/nvidia*; find /proc/driver/nvidia; probe /dev/other"
    with alive(without, show) as container:
        before = container.out
        # The host's mount table has what podman mounts for the other one meanwhile.
        assert started(cell.box(nv_box, "0").start(f"{PROBE} probe {gpu.node}").finish()) != ""
        after = container.exec(0, PROBE + show)
    assert after == before
    *names, line = before.splitlines()
    assert names == ["/dev/nvidia*", "/proc/driver/nvidia"]
    assert probed(line)["/dev/other"].said == closed


@pytest.mark.parametrize("cell", [CELLS[1], CELLS[3]], ids=str)
def test_none_brings_no_node(nv_box, machine, cell):
    box = cell.box(nv_box, "none")
    closed = other(box, cell, machine, machine.gpus[0])
    out = started(box.run(f"{PROBE} echo /dev/nvidia*; ls /proc/driver/nvidia/ /proc/driver/nvidia/gpus;"
                          " cat /proc/driver/nvidia/params; probe /dev/other"))
    assert out.startswith("/dev/nvidia*\n") and "ModifyDeviceFiles: 0" in out
    assert not [gpu for gpu in machine.gpus if gpu.address in out]
    assert probed(out.splitlines()[-1])["/dev/other"].said == closed


@pytest.mark.parametrize("cell", [CELLS[2], CELLS[6]], ids=str)
def test_where_the_container_has_no_such_directory_in_proc_it_is_left_out(nv_box, machine, cell):
    """As where the driver is in a sysroot of its own, and not in this kernel."""
    box = cell.box(nv_box, "3")
    without_proc_driver(box)
    result = box.run(f"{PROBE} probe /dev/nvidia*; ls -d /proc/driver/nvidia 2>/dev/null || true")
    assert probed(started(result)) == given(machine.gpus[3])
    told(result, "/proc/driver/nvidia")


def test_crun_without_a_cgroup_says_so(nv_box, machine):
    cell = CELLS[7]
    result = cell.box(nv_box, "0").run(f"{PROBE} probe {machine.gpus[0].node}")
    assert probed(started(result)) == {machine.gpus[0].node: node(MAJOR, machine.gpus[0].minor)}
    told(result, "device cgroup")


@pytest.mark.parametrize("engine", engines.MAPPED, ids=str)
def test_the_root_of_a_user_namespace_cannot_change_the_drivers_directory(nv_box, machine, engine):
    """With CAP_SYS_ADMIN it may take mounts of its own namespace away; what is in them is the host's root's."""
    box = nv_box("1", engine=engine)
    box.add_capability("CAP_SYS_ADMIN")
    place = "/proc/driver/nvidia"
    out = started(box.run(f"for p in {place} {place}/gpus/*; do mount -o remount,bind,rw $p; done;"
                          f" echo 1 > {place}/params; echo x > {place}/gpus/x; rm {place}/params;"
                          f" echo x > {place}/gpus/*/information; umount {place}/gpus/*;"
                          f" find {place}/gpus; grep Modify {place}/params"))
    directory = f"{place}/gpus/{machine.gpus[1].address}"
    assert out.replace(f"{directory}/information\n", "") == f"{place}/gpus\n{directory}\nModifyDeviceFiles: 0\n"
