# SPDX-License-Identifier: Apache-2.0
"""Attacks on /dev/dri and its by-path by an image, by the numbers of the CVEs in which runtimes fell for them, and the
hostile images H6 and H7. Outside the root nothing changes."""

import os
import shutil

import pytest

from harness.amd_container import given, refused
from harness.dev_attacks import CLIMB, SPACES, TARGETS
from harness.nvidia_container import without_dev
from harness.source import tree
from hosts.amd import DRM, XT

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

FEW = ["itself", "itself by a dot", "the root", "nowhere", "init's root", "a file"]
NAMES = ("kfd", "card2", "renderD129", "by-path")


@pytest.fixture(name="outside")
def outside_fixture(scratch):
    """A folder of the host with all that the hook looks for in a container, and times to compare."""
    outside = scratch / "outside"
    for folder in ("dri/by-path", "by-path"):
        (outside / folder).mkdir(parents=True)
    for name in ("kfd", "card2", "renderD129", "dri/renderD129"):
        (outside / name).write_text("of the host\n")
        (outside / name).chmod(0o600)

    def seen():
        times = [(path, path.lstat().st_mtime_ns, path.lstat().st_ino)
                 for path in sorted([outside, *outside.rglob("*")])]
        real = [name for name in NAMES for folder in ("/", "/dev/", "/dev/dri/") if os.path.lexists(folder + name)]
        return tree(outside), times, real

    before = seen()
    yield outside
    assert seen() == before


@pytest.fixture(name="box", params=SPACES, ids=str)
def box_fixture(request, amd_box):
    """Its /dev is a part of the image."""
    box = amd_box("0", engine=request.param)
    without_dev(box)
    box.mapped, box.timeout = request.param.mapped, 20
    return box


def in_turns(names, values):
    """Each of the values with another engine than the one before: the code is the same for both but for how a node
    gets to its place."""
    return pytest.mark.parametrize(f"box, {names}", [(SPACES[n % 2], *value) for n, value in enumerate(values)],
                                   ids=lambda value: str(value)[-30:], indirect=["box"])


def works_or_is_refused(box):
    """Inside, or not at all; gives whether it works."""
    result = box.run("cd /dev; stat -Lc '%a %t:%T' kfd dri/card2 dri/renderD129;"
                     " for l in /dev/dri/by-path/pci-*; do readlink $l; done")
    if result.code != 0:
        refused(result, 1)
        return False
    numbers = "".join(f"666 {each.number[0]:x}:{each.number[1]:x}\n" for each in given(XT).values())
    assert result.out == numbers + "../card2\n../renderD129\n", (result.out, result.said)
    return True


@in_turns("place, folder, climb", [("dri", "dri", ""), ("dri", "dri", CLIMB), ("dri/by-path", "by-path", CLIMB),
                                   ("dri/by-path", "by-path", ""), ("dri", "", CLIMB)])
def test_h6_a_folder_of_dev_is_a_link_out(box, outside, place, folder, climb):
    path = box.rootfs / "dev" / place
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(f"{climb}{outside / folder}")
    refused(box.run(), 1, "/dev/dri")


@in_turns("place, target", [*(("dri", target) for target in TARGETS), *(("dri/by-path", target) for target in FEW)])
def test_h3_h4_h5_h12_links_that_lead_nowhere_or_to_the_root(box, outside, place, target):
    """Those that end at a folder inside are that folder."""
    path = box.rootfs / "dev" / place
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(TARGETS[target])
    before = tree(box.rootfs / "etc")
    works = works_or_is_refused(box)
    assert works is (target in ("the root", "itself by a dot")) or (works and box.mapped), target
    assert tree(box.rootfs / "etc") == before and outside.exists()


@pytest.mark.parametrize("climb", ["", CLIMB])
def test_cve_2025_31133_cve_2025_52565_a_link_in_a_nodes_place_is_not_followed(box, outside, watch, climb):
    """Nothing that it leads to is opened, or gets another mode or owner; inside as little as outside."""
    copy = box.rootfs / str(outside)[1:]
    shutil.copytree(outside, copy)
    (box.rootfs / "dev/dri").mkdir()
    for name in ("kfd", "dri/card2", "dri/renderD129"):
        (box.rootfs / "dev" / name).symlink_to(f"{climb}{outside / os.path.basename(name)}")
    before = tree(copy)
    opened = watch(*(root / name for root in (copy, outside) for name in NAMES[:3]))
    works_or_is_refused(box)
    assert opened() == [] and tree(copy) == before


def test_cve_2025_31133_a_node_of_the_image_is_not_the_source_of_anything(box, amd_machine):
    """It has the name of the GPU, and the number of another."""
    image = f"../{box.bundle.folder.name}/rootfs/dev"
    amd_machine.node(f"{image}/dri/renderD129", DRM, 128, 0o600)
    amd_machine.node(f"{image}/kfd", 1, 1, 0o600)
    assert works_or_is_refused(box) or box.mapped


def test_h7_a_second_name_of_a_file_is_not_touched(box, outside, watch):
    """The name goes; what it was a name of keeps mode, owner and content."""
    (box.rootfs / "dev/dri").mkdir()
    files = (outside / "kfd", outside / "renderD129")
    os.link(files[0], box.rootfs / "dev/kfd")
    os.link(files[1], box.rootfs / "dev/dri/renderD129")
    opened = watch(*files)
    works_or_is_refused(box)
    assert opened() == []


@in_turns("place, thing", [
    ("kfd", "folder"), ("dri/renderD129", "folder"), ("dri", "file"), ("dri/by-path", "file"), ("dri", "FIFO"),
    (f"dri/by-path/{XT.by_path}-render", "folder")])
def test_h7_a_folder_for_a_node_and_a_file_for_a_folder(box, place, thing):
    """What is made before it is noticed is gone again."""
    path = box.rootfs / "dev" / place
    path.parent.mkdir(exist_ok=True, parents=True)
    {"folder": os.mkdir, "FIFO": os.mkfifo, "file": lambda path: path.write_text("")}[thing](path)
    before = tree(box.rootfs / "dev")
    refused(box.run(), 1, f"/dev/{place}")
    after = {name: each for name, each in tree(box.rootfs / "dev").items() if "kfd" in str(name)
             or "dri" in str(name)}
    assert after == before


@pytest.mark.parametrize("box", SPACES[1:], ids=str, indirect=True)
@pytest.mark.parametrize("target", ["/etc/passwd", "renderD129"])
def test_in_a_user_namespace_a_link_in_a_nodes_place_stays_inside(box, target):
    """There a node is mounted, in this container alone: what a link leads to is mounted over, or it is refused."""
    (box.rootfs / "dev/dri").mkdir()
    (box.rootfs / "dev/dri/renderD129").symlink_to(target)
    before = tree(box.rootfs / "etc")
    works_or_is_refused(box)
    assert tree(box.rootfs / "etc") == before and os.readlink(box.rootfs / "dev/dri/renderD129") == target


def test_without_any_of_it_works(box):
    """Else all of this would show nothing."""
    assert works_or_is_refused(box)
