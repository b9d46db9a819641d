# SPDX-License-Identifier: Apache-2.0
"""Attacks on the driver's directory in /proc by an image, by the hostile images H14. Outside the root nothing changes."""

import shutil

import pytest

from harness import engines
from harness.ldcache import in_the_container
from harness.mounts import parse
from harness.nvidia_container import in_vain, without_dev, without_proc_driver
from harness.source import tree
from harness.turns import SPACES, in_turns
from harness.unchanged import unchanged

pytest_plugins = ["harness.nvidia_fixtures"]

CLIMB = "../../../../../../../../../../../../../../.."


@pytest.fixture(name="outside")
def outside_fixture(scratch):
    """A directory of the host that looks like the driver's, and times to compare."""
    outside = scratch / "outside"
    for name in ("driver/nvidia/gpus", "nvidia/gpus", "gpus"):
        (outside / name).mkdir(parents=True)
    for name in ("params", "nvidia/params", "driver/nvidia/params"):
        (outside / name).write_text("of the host\n")
        (outside / name).chmod(0o600)
    with unchanged(outside):
        yield outside


@pytest.fixture(name="box", params=SPACES, ids=str)
def box_fixture(request, nv_box):
    """Its /dev is a part of the image."""
    box = nv_box("1", engine=request.param)
    without_dev(box)
    box.mapped, box.timeout = request.param.mapped, 20
    return box


def without_proc(box):
    """The container gets no procfs, and what the image has at /proc is what is there."""
    without_proc_driver(box)
    box.config["mounts"] = [m for m in box.config["mounts"] if m["destination"] != "/proc"]
    for name in ("maskedPaths", "readonlyPaths"):
        box.config["linux"][name] = []


def own_less(directory):
    """A tree, but for the links to the driver's files."""
    return {path: each for path, each in tree(directory).items() if path.parts[0] != "nvidia"}


def left_alone(box, directory, statuses=("1",)):
    """Nothing of ours is mounted, nothing is left in `directory`, and the hook says why."""
    before = tree(directory)
    table = box.bundle.directory / "table"
    box.last = [in_the_container(f'cat /proc/self/mountinfo > "{table}"')]
    in_vain(box, box.bundle.directory / "status")
    result = box.start("true").finish()  # without procfs it may not start all the same
    box.host.check()
    status = (box.bundle.directory / "status").read_text().strip()
    assert status in statuses, result.said
    assert "/proc/driver/nvidia" in result.said[-1], result.said
    own = [mount.point for mount in parse(table.read_text()) if mount.source == "oci-gpu-hooks"]
    assert not [point for point in own if status != "0" or "/proc" in point] and own_less(directory) == before


def test_h14_a_plain_directory_at_proc_is_not_believed(box):
    (box.rootfs / "proc/driver/nvidia/gpus").mkdir(parents=True)
    (box.rootfs / "proc/driver/nvidia/params").write_text("of the image\n")
    without_proc(box)
    left_alone(box, box.rootfs / "proc")


@in_turns("target", ["/etc", "{outside}", CLIMB + "{outside}"])
def test_h14_proc_is_a_link(box, outside, target):
    """Inside the root it leads to a directory that looks like it, too."""
    (box.rootfs / "etc/driver/nvidia").mkdir(parents=True)
    shutil.copytree(outside, box.rootfs / str(outside)[1:])
    (box.rootfs / "proc").rmdir()
    (box.rootfs / "proc").symlink_to(target.format(outside=outside))
    without_proc(box)
    left_alone(box, box.rootfs / "etc")


@in_turns("target", ["/etc", "{outside}", "/proc/self/root/etc"])
def test_h14_the_drivers_directory_is_a_link(box, outside, target):
    """By a magic link it is not there at all."""
    shutil.copytree(outside, box.rootfs / str(outside)[1:])
    without_proc_driver(box)
    box.tmpfs("/proc/driver")
    flags = "--user" if box.mapped else ""  # the tmpfs is of the container's user namespace
    link = in_the_container('ln -s "{}" "$ROOT/proc/driver/nvidia"'.format(target.format(outside=outside)))
    link["args"][-1] = link["args"][-1].replace("--mount ", f"--mount {flags} ")
    box.first.append(link)
    left_alone(box, box.rootfs / "etc", ("0", "1") if "self" in target else ("1",))


@in_turns("fstype", ["a directory", "a tmpfs"], among=(engines.RUNTIMES[1], engines.MAPPED[1]))
def test_h14_the_drivers_directory_is_a_volume(box, outside, scratch, fstype):
    """A tmpfs is procfs's stand-in only if it is the container's own. runc lets nobody mount there."""
    volume = outside / "driver/nvidia"
    if fstype == "a tmpfs":
        volume = scratch / "tmpfs"
        volume.mkdir()
        box.host.mount("-t", "tmpfs", "tmpfs", volume)
    without_proc_driver(box)
    box.tmpfs("/proc/driver")
    box.volume("/proc/driver/nvidia", volume)
    left_alone(box, volume)
