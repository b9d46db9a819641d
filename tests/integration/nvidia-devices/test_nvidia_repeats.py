# SPDX-License-Identifier: Apache-2.0
"""More than one hook, request or start: another run changes nothing, another request adds, and an image does
not fill up. And the directories at /dev in which nothing can be made, or where what is made stays."""

import os

import pytest

from harness import engines
from harness.expect import started, told
from harness.ldcache import mount_srv
from harness.nvidia_container import (ALLOWED, CAPABILITIES, DENIED, PROBE, given, node, probed, refused, snapshot,
                                      without_dev)
from harness.source import tree
from harness.turns import in_turns

pytest_plugins = ["harness.nvidia_fixtures"]

RUNC, CRUN = engines.RUNTIMES
CELLS = [(RUNC, "as-found"), (RUNC, "v2"), (CRUN, "not-hybrid"), (engines.MAPPED[0], "v2"),
         (engines.MAPPED[1], "not-hybrid")]
SHOW = f"{PROBE} probe /dev/nvidia*"


@pytest.mark.parametrize("engine, cgroup", CELLS, ids=str)
def test_a_second_run_changes_nothing(nv_box, machine, scratch, engine, cgroup):
    """Every node and link is the same one, and nothing is mounted on top."""
    box = nv_box("1,2", engine=engine, cgroup=cgroup)
    box.annotations[CAPABILITIES] = "compute,display"
    box.first += [box._entry(), snapshot(scratch / "first")]  # pylint: disable=protected-access
    box.last = [snapshot(scratch / "second")]
    seen = probed(started(box.run(SHOW)))
    assert given(*machine.gpus[1:3]).items() <= seen.items()
    first = (scratch / "first").read_text()
    assert "dev/nvidia2 " in first and f"gpus/{machine.gpus[2].address} " in first and "by-path/pci-" in first
    assert (scratch / "second").read_text() == first


@pytest.mark.parametrize("engine, cgroup", CELLS, ids=str)
def test_a_second_request_adds_to_the_first(nv_box, machine, engine, cgroup):
    """As from two devices of a CDI specification: nodes, cgroup and /proc have both, and no third."""
    box = nv_box(None, "--request", "1", engine=engine, cgroup=cgroup)
    box.loader = "concourse"
    first = box._entry()  # pylint: disable=protected-access
    box.args[-1] = "4"
    box.first.append(first)
    box.volume("/dev/other", machine.path / "dev/nvidia1")
    out = started(box.run(f"{SHOW} /dev/other; cd /proc/driver/nvidia/gpus; ls; cat */information;"
                          " touch x 2>&1 || true"))
    gpus = [machine.gpus[1], machine.gpus[4]]
    seen = probed("\n".join(line for line in out.splitlines() if "|" in line))
    assert seen.pop("/dev/other").said == DENIED
    assert seen == given(*gpus)
    assert "\n".join(gpu.address for gpu in gpus) + "\n" + "".join(gpu.information() for gpu in gpus) in out
    assert out.endswith("Read-only file system\n")


@pytest.mark.parametrize("engine", [RUNC, engines.MAPPED[1]], ids=str)
def test_with_mount_srv_in_one_container(nv_box, machine, hook, srv, engine):
    srv.directory("data")
    box = nv_box("0", engine=engine)
    mount_srv(box, hook, srv, "data")
    out = started(box.run(f"cat /srv/data/words; {SHOW}"))
    words, seen = out.split("\n", 1)
    assert words == "words of data" and probed(seen) == given(machine.gpus[0])


@pytest.mark.parametrize("engine, with_dev, times", [
    (RUNC, False, 5), (engines.MAPPED[1], False, 5), (CRUN, True, 5),
    (engines.MAPPED[0], True, 5)], ids=str)
def test_restarts_leave_the_root_as_after_the_first(nv_box, machine, engine, with_dev, times):
    """Also where /dev is the image's own, and all that was made is there again."""
    box = nv_box("1", engine=engine)
    box.annotations[CAPABILITIES] = "compute,display"
    if not with_dev:
        without_dev(box)
    assert given(machine.gpus[1]).items() <= probed(started(box.run(SHOW))).items()
    box.config["process"]["args"] = ["true"]
    box.bundle.write()

    def state():
        # The link /dev/ptmx is a new one each time, by the runtime.
        found = ((path, path.lstat()) for path in sorted(box.rootfs.rglob("*")) if path.name != "ptmx")
        return [(str(path), status.st_mode, status.st_rdev, status.st_ino, status.st_uid, status.st_nlink)
                for path, status in found]

    before = state()
    assert [line for line in before if "nvidia2" in line[0]] or with_dev
    for _ in range(times):
        result = box.runtime.start(box.host, box.bundle).finish()
        assert result.code == 0, (result.err, result.said)
    assert state() == before


@pytest.mark.parametrize("engine", [RUNC, CRUN, engines.MAPPED[0]], ids=str)
def test_a_dev_of_the_image_itself(nv_box, machine, engine):
    """What is made there is a part of the root, and gone with it."""
    box = nv_box("1", engine=engine)
    without_dev(box)
    assert given(machine.gpus[1]).items() <= probed(started(box.run(SHOW))).items()
    kinds = {path.name for path in (box.rootfs / "dev").iterdir()}
    assert {"nvidia2", "nvidiactl", "nvidia-uvm"} <= kinds


@in_turns("has", ["all", "one less", "a wrong one"], "engine", among=(RUNC, CRUN))
def test_the_hosts_own_dev(nv_box, nv_host, machine, engine, has):
    """Nothing is made there: the container uses what is there, or does not start."""
    box = nv_box("1", engine=engine)
    without_dev(box)
    box.config["linux"]["maskedPaths"] = box.config["linux"]["readonlyPaths"] = []
    box.volume("/dev", "/dev")
    dev = nv_host().path("/dev")
    numbers = {path[5:]: each.number for path, each in given(machine.gpus[1]).items()}
    if has == "one less":
        numbers.pop("nvidia-uvm-tools")
    if has == "a wrong one":
        numbers["nvidia-uvm"] = (1, 3)
    for name, number in numbers.items():
        os.mknod(f"{dev}/{name}", 0o20666, os.makedev(*number))
        os.chmod(f"{dev}/{name}", 0o666)
    before = {name: os.lstat(f"{dev}/{name}").st_ino for name in os.listdir(dev)}
    result = box.run(SHOW)
    assert {name: os.lstat(f"{dev}/{name}").st_ino for name in os.listdir(dev)} == before
    if has == "all":
        assert probed(started(result)) == given(machine.gpus[1])
        told(result, "the container's /dev is the host's")
    else:
        refused(result, 1, "/dev/nvidia-uvm")


@pytest.mark.parametrize("engine", [RUNC, engines.MAPPED[1]], ids=str)
def test_h17_a_volume_at_dev_gets_no_node(nv_box, machine, scratch, engine):
    """It is a directory of the host, and others may have it too."""
    (scratch / "volume").mkdir()
    machine.node("../volume/nvidiactl", 195, 255)
    box = nv_box("1", engine=engine)
    without_dev(box)
    box.volume("/dev", scratch / "volume")
    before = tree(scratch / "volume")
    refused(box.run(SHOW), 1, "/dev")
    assert {name: each for name, each in tree(scratch / "volume").items() if "nvidia" in str(name)} == before


def test_a_right_node_of_a_volume_is_used(nv_box, machine):
    """One file of the host, mounted by the engine: the cgroup rule is all that it lacks."""
    box = nv_box("1")
    box.volume("/dev/nvidia2", machine.path / "dev/nvidia2")
    seen = probed(started(box.run(SHOW)))
    assert seen == given(machine.gpus[1]) and seen["/dev/nvidia2"] == node(195, 2, ALLOWED)


@pytest.mark.parametrize("opt_in", [["--opt-in", "always"], []], ids=["always", "request"])
def test_where_the_host_asks_it_waits_as_long_as_the_host_allows(nv_box, opt_in):
    """Such a container has no way to say so. 30 s, the time that the runtime gives the hook, are too few for it."""
    box = nv_box(None, *opt_in, "--request", "0", "--max-wait", "1m")
    box.loader = "concourse"
    refused(box.run("true"), 2, "wait for 1m", "at least 65 s")
