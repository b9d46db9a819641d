# SPDX-License-Identifier: Apache-2.0
"""Attacks on /dev and /proc by an image, by the numbers of the CVEs in which runtimes fell for them, and the
hostile images H6, H7 and H14. Outside the root nothing changes. RACE_SECONDS: how long each race goes on."""

import os
import shutil

import pytest

from harness import engines
from harness.dev_attacks import CLIMB, SPACES, TARGETS
from harness.exchange import rounds, running
from harness.ldcache import in_the_container
from harness.mounts import parse
from harness.nvidia_container import CAPABILITIES, in_vain, refused, without_dev, without_proc_driver
from harness.source import tree
from hosts.nvidia import MAJOR

pytest_plugins = ["harness.nvidia_fixtures"]

RUNC, CRUN = engines.RUNTIMES
NODES = "stat -Lc '%a %t:%T' /dev/dri/card1 /dev/nvidia2 /dev/nvidiactl"  # through links, if there are any
GIVEN = "666 e2:1\n666 c3:2\n666 c3:ff\n"
NAMES = ("card1", "renderD128", "by-path", "nvidia2", "nvidiactl", "dri")


@pytest.fixture(name="outside")
def outside_fixture(scratch):
    """A folder of the host with all that the hook looks for in a container, and times to compare."""
    outside = scratch / "outside"
    for name in ("dev/dri/by-path", "dri/by-path", "by-path", "driver/nvidia/gpus", "nvidia/gpus", "gpus"):
        (outside / name).mkdir(parents=True)
    for name in ("nvidia2", "nvidiactl", "dev/nvidia2", "nvidia-uvm", "card1", "params", "nvidia/params",
                 "driver/nvidia/params"):
        (outside / name).write_text("of the host\n")
        (outside / name).chmod(0o600)

    def seen():
        times = [(path, path.lstat().st_mtime_ns, path.lstat().st_ino)
                 for path in sorted([outside, *outside.rglob("*")])]
        real = [name for name in NAMES for folder in ("/", "/dev/") if os.path.lexists(folder + name)]
        return tree(outside), times, real

    before = seen()
    yield outside
    assert seen() == before


@pytest.fixture(name="box", params=SPACES, ids=str)
def box_fixture(request, nv_box):
    """Its /dev is a part of the image; GPU 1, with its nodes in /dev/dri."""
    box = nv_box("1", engine=request.param)
    box.annotations[CAPABILITIES] = "compute,graphics"
    without_dev(box)
    box.mapped, box.timeout = request.param.mapped, 20
    return box


def works_or_is_refused(box):
    """Inside, or not at all; gives whether it works."""
    result = box.run(NODES)
    if result.code == 0:
        assert result.out == GIVEN, (result.out, result.said)
        return True
    refused(result, 1)
    return False


@pytest.mark.parametrize("climb", ["", CLIMB])
def test_cve_2026_41579_cve_2026_47766_h6_dev_is_a_link_out(box, outside, climb):
    """It becomes one when the runtime has done its work: these runtimes would fill the folder themselves."""
    box.first.append(in_the_container(f'mv "$ROOT/dev" "$ROOT/away"; ln -s "{climb}{outside}" "$ROOT/dev"'))
    refused(box.run(), 1, "/dev")


def test_cve_2026_41579_cve_2026_47766_such_a_link_leads_to_a_folder_inside(box, outside):
    """In a root which has all that it names, that is where the nodes are made."""
    inside = f'"$ROOT{outside}"'
    box.first.append(in_the_container(
        f'mkdir -p {inside}; rmdir {inside}; mv "$ROOT/dev" {inside}; ln -s "{outside}" "$ROOT/dev"'))
    assert works_or_is_refused(box) or box.mapped
    shutil.rmtree(box.rootfs / str(outside)[1:])


@pytest.mark.parametrize("engine", [RUNC, CRUN], ids=str)
def test_cve_2026_41579_a_volume_that_a_link_leads_to_stays_as_it_is(nv_box, outside, scratch, engine):
    box = nv_box("1", engine=engine)
    without_dev(box)
    (box.rootfs / "dev").rmdir()
    (box.rootfs / "dev").symlink_to(outside)
    (box.rootfs / str(outside)[1:]).mkdir(parents=True)
    (scratch / "volume").mkdir()
    box.volume("/dev", scratch / "volume")
    refused(box.run(), 1)
    assert not [path for path in (scratch / "volume").iterdir() if path.name in NAMES]


@pytest.mark.parametrize("climb", ["", CLIMB])
@pytest.mark.parametrize("place, folder", [("dri", "dri"), ("dri/by-path", "by-path"), ("dri", "")])
def test_h6_a_folder_of_dev_is_a_link_out(box, outside, place, folder, climb):
    path = box.rootfs / "dev" / place
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(f"{climb}{outside / folder}")
    refused(box.run(), 1, "/dev/dri")


def chain(folder, name):
    for number in range(41):
        (folder / f"{name}{number or ''}").symlink_to(f"{name}{number + 1}")
    (folder / f"{name}41").mkdir()


@pytest.mark.parametrize("target", [*TARGETS, "41 others"])
def test_h3_h4_h5_h12_links_that_lead_nowhere_or_to_the_root(box, outside, target):
    if target == "41 others":
        chain(box.rootfs / "dev", "dri")
    else:
        (box.rootfs / "dev/dri").symlink_to(TARGETS[target])
    before = tree(box.rootfs / "etc")
    inside = target in ("the root", "itself by a dot")
    assert works_or_is_refused(box) is inside or inside
    assert before.items() <= tree(box.rootfs / "etc").items() and outside.exists()


@pytest.mark.parametrize("climb", ["", CLIMB])
def test_cve_2025_31133_cve_2025_52565_a_link_in_a_nodes_place_is_not_followed(box, outside, watch, climb):
    """Nothing that it leads to is opened, or gets another mode or owner; inside as little as outside."""
    copy = box.rootfs / str(outside)[1:]
    shutil.copytree(outside, copy)
    for name in ("nvidia2", "nvidiactl", "nvidia-uvm"):
        (box.rootfs / "dev" / name).symlink_to(f"{climb}{outside / name}")
    before = tree(copy)
    opened = watch(*(root / name for root in (copy, outside)
                     for name in ("nvidia2", "nvidiactl", "nvidia-uvm")))
    works_or_is_refused(box)
    assert opened() == [] and tree(copy) == before


def test_cve_2025_31133_a_node_of_the_image_is_not_the_source_of_anything(box, machine):
    """It has the name of the GPU, and the number of another."""
    machine.node(f"../{box.bundle.folder.name}/rootfs/dev/nvidia2", MAJOR, 1, 0o600)
    machine.node(f"../{box.bundle.folder.name}/rootfs/dev/nvidiactl", 1, 1, 0o600)
    assert works_or_is_refused(box) or box.mapped


def test_h7_a_second_name_of_a_file_is_not_touched(box, outside, watch):
    """The name goes; what it was a name of keeps mode, owner and content."""
    for name in ("nvidia2", "nvidiactl"):
        os.link(outside / name, box.rootfs / "dev" / name)
    opened = watch(outside / "nvidia2", outside / "nvidiactl")
    works_or_is_refused(box)
    assert opened() == []


def without_proc(box):
    """The container gets no procfs, and what the image has at /proc is what is there."""
    without_proc_driver(box)
    box.config["mounts"] = [m for m in box.config["mounts"] if m["destination"] != "/proc"]
    for name in ("maskedPaths", "readonlyPaths"):
        box.config["linux"][name] = []


def own_less(folder):
    """A tree, but for the links to the driver's files."""
    return {path: each for path, each in tree(folder).items() if path.parts[0] != "nvidia"}


def left_alone(box, folder, statuses=("1",)):
    """Nothing of ours is mounted, nothing is left in `folder`, and the hook says why."""
    before = tree(folder)
    table = box.bundle.folder / "table"
    box.last = [in_the_container(f'cat /proc/self/mountinfo > "{table}"')]
    in_vain(box, box.bundle.folder / "status")
    result = box.start("true").finish()  # without procfs it may not start all the same
    box.host.check()
    status = (box.bundle.folder / "status").read_text().strip()
    assert status in statuses, result.said
    assert "/proc/driver/nvidia" in result.said[-1], result.said
    own = [mount.point for mount in parse(table.read_text()) if mount.source == "oci-gpu-hooks"]
    assert not [point for point in own if status != "0" or "/proc" in point] and own_less(folder) == before


def test_h14_a_plain_folder_at_proc_is_not_believed(box):
    (box.rootfs / "proc/driver/nvidia/gpus").mkdir(parents=True)
    (box.rootfs / "proc/driver/nvidia/params").write_text("of the image\n")
    without_proc(box)
    left_alone(box, box.rootfs / "proc")


@pytest.mark.parametrize("target", ["/etc", "{outside}", CLIMB + "{outside}"])
def test_h14_proc_is_a_link(box, outside, target):
    """Inside the root it leads to a folder that looks like it, too."""
    (box.rootfs / "etc/driver/nvidia").mkdir(parents=True)
    shutil.copytree(outside, box.rootfs / str(outside)[1:])
    (box.rootfs / "proc").rmdir()
    (box.rootfs / "proc").symlink_to(target.format(outside=outside))
    without_proc(box)
    left_alone(box, box.rootfs / "etc")


@pytest.mark.parametrize("target", ["/etc", "{outside}", "/proc/self/root/etc"])
def test_h14_the_drivers_folder_is_a_link(box, outside, target):
    """By a magic link it is not there at all."""
    shutil.copytree(outside, box.rootfs / str(outside)[1:])
    without_proc_driver(box)
    box.tmpfs("/proc/driver")
    flags = "--user" if box.mapped else ""  # the tmpfs is of the container's user namespace
    link = in_the_container('ln -s "{}" "$ROOT/proc/driver/nvidia"'.format(target.format(outside=outside)))
    link["args"][-1] = link["args"][-1].replace("--mount ", f"--mount {flags} ")
    box.first.append(link)
    left_alone(box, box.rootfs / "etc", ("0", "1") if "self" in target else ("1",))


@pytest.mark.parametrize("box", [CRUN, engines.MAPPED[1]], ids=str, indirect=True)
@pytest.mark.parametrize("fstype", ["a folder", "a tmpfs"])
def test_h14_the_drivers_folder_is_a_volume(box, outside, scratch, fstype):
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


@pytest.mark.parametrize("place, folder", [("dev/dri", "dri"), ("dev/dri/by-path", "by-path")])
def test_race_1_a_folder_of_dev_against_a_link_out(box, outside, place, folder):
    """Whenever it hits, the work happens inside, or the container does not start."""
    path = box.rootfs / place
    path.mkdir(parents=True)
    link = path.with_name("exchanged")
    link.symlink_to(outside / folder)
    with running(path, link):
        for _ in rounds():
            result = box.start("true").finish()
            box.host.check()
            if result.code != 0:
                refused(result, 1)
