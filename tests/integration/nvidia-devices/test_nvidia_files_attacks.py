# SPDX-License-Identifier: Apache-2.0
"""Attacks by an image on the driver's tree and on the links into it, by the numbers of the CVEs in which NVIDIA's
tools fell for them, and the hostile images H1 to H12. Outside the root nothing changes, and of the host's files a
container sees the driver's alone. RACE_SECONDS: how long each race goes on."""

import os
import shutil

from harness.driver_attacks import (CLIMB, COMPAT, FILE, LINKS, LOOK, NEWER, OURS, PARENTS, PLACE, SHAPES,
                                    look_at, plant)
from harness.exchange import rounds, running
from harness.nvidia_container import refused
from harness.source import tree
from harness.turns import in_turns
from hosts.driver import POINT, VERSION

pytest_plugins = ["harness.nvidia_fixtures", "harness.ldcache_fixtures", "harness.driver_fixtures",
                  "harness.driver_attack_fixtures"]


@in_turns("place, target", [
    *((PLACE, target) for target in (
        "{outside}", CLIMB + "{outside}", "/", ".", "..", "/nowhere/at/all", "itself", "/proc/self/root",
        "/proc/1/root", "/proc/self/fd/3", "/proc/self/cwd", "/proc", "/sys", "/etc/passwd", "/dev")),
    *((place, target) for place in ("usr/local", "usr") for target in (
        "{outside}", CLIMB + "{outside}", "/", "itself", "/proc/self/root", "/proc", "/etc"))])
def test_cve_2024_0132_h1_to_h5_h12_the_trees_place_is_a_link(box, outside, scratch, place, target):
    """Inside, where it leads to a directory in which something may be made; or not at all, never on the root itself."""
    text = target.format(outside=outside / {"usr": "", "usr/local": "local", PLACE: "nvidia"}[place])
    plant(box.rootfs / place, os.path.basename(place) if target == "itself" else text)
    inside = {("usr/local", "/"): "/nvidia", ("usr/local", "/etc"): "/etc/nvidia", ("usr", "/etc"): "/etc/local/nvidia"}
    tree_is_at = inside.get((place, target))
    assert look_at(box, scratch) == (tree_is_at and f"libcuda.so.1 {tree_is_at}/lib64/libcuda.so.{VERSION}\n")


@in_turns("place", [PLACE, "usr/local"])
def test_cve_2024_0132_such_a_link_leads_to_a_directory_inside(box, outside, scratch, place):
    """In a root which has all that it names, that is where the tree is."""
    directory = outside / {"usr/local": "local", PLACE: "nvidia"}[place]
    shutil.copytree(outside, box.rootfs / str(outside)[1:])
    plant(box.rootfs / place, directory)
    assert f" {outside}/" in look_at(box, scratch)


@in_turns("shape", SHAPES)
def test_h7_no_directory_in_the_trees_place(box, watch, shape):
    SHAPES[shape](box.rootfs / PLACE)
    before = (box.rootfs / PLACE).lstat()
    (box.rootfs / "kept").hardlink_to(box.rootfs / PLACE)
    opened = watch(box.rootfs / "kept")
    refused(box.run(LOOK), 1, f"'{POINT}'")
    assert opened() == [] and (box.rootfs / PLACE).lstat().st_mode == before.st_mode


@in_turns("target", ["{outside}/{place}", CLIMB + "{outside}/{place}", "/", "/nowhere/at/all",
                     "/proc/self/root/{place}", "itself", "/etc/passwd"])
def test_cve_2024_0134_cve_2024_0133_h11_the_directories_of_links_are_links(box, outside, scratch, target):
    """All of them: what cannot be made inside is left out with a warning, and the container works."""
    for place in PARENTS:
        name = os.path.basename(place)
        plant(box.rootfs / place, name if target == "itself" else target.format(outside=outside, place=place))
    before = tree(box.rootfs / "etc") if target == "/etc/passwd" else None
    assert look_at(box, scratch) == OURS
    assert before is None or (box.rootfs / "etc/passwd").read_bytes() == before[next(
        path for path in before if path.name == "passwd")][3]


def test_cve_2024_0134_a_directory_of_links_leads_to_one_inside(box, outside, scratch):
    shutil.copytree(outside, box.rootfs / str(outside)[1:])
    for place in PARENTS:
        plant(box.rootfs / place, outside / place)
    assert look_at(box, scratch) == OURS
    made = box.rootfs / str(outside / "etc/vulkan/icd.d/nvidia_icd.json")[1:]
    assert str(made.readlink()).startswith(POINT)


@in_turns("shape", ["link out", "dangling", "directory", "FIFO", "device"])
def test_cve_2024_0133_h4_h7_what_is_in_a_links_place_stays_unopened(box, outside, scratch, watch, shape):
    """It stays; nothing is made where it leads to."""
    make = {"link out": lambda path: path.symlink_to(outside / "secret"), "directory": os.mkdir,
            "dangling": lambda path: path.symlink_to(outside / "new"), **SHAPES}[shape]
    for number, name in enumerate(LINKS):
        (box.rootfs / name).parent.mkdir(parents=True, exist_ok=True)
        make(box.rootfs / name)
        if shape in ("FIFO", "device"):
            (box.rootfs / f"kept{number}").hardlink_to(box.rootfs / name)
    opened = watch(outside / "secret", *box.rootfs.glob("kept*"))
    before = [(path.lstat().st_ino, path.lstat().st_mode) for path in (box.rootfs / name for name in LINKS)]
    assert look_at(box, scratch) == OURS
    assert opened() == []
    assert before == [(path.lstat().st_ino, path.lstat().st_mode) for path in (box.rootfs / name for name in LINKS)]


@in_turns("kind", ["with", "without", "shared"])
def test_h17_a_volume_above_the_tree(box, scratch, kind):
    """Nothing is made there. What it has may be covered in the container, which the host does not see."""
    volume = scratch / "volume"
    (volume / ("nvidia" if kind != "without" else "other")).mkdir(parents=True)
    (volume / "words").write_text("of the host\n")
    before = tree(volume)
    box.volume("/usr/local", volume, *(["rshared"] if kind == "shared" else []))
    table = box.host.table()
    result = box.run(FILE)
    if kind == "with":
        assert result.out == OURS, (result.out, result.err)
    else:
        refused(result, 1, f"'{POINT}'")
    assert tree(volume) == before and box.host.table() == table


@in_turns("place, target", [(PLACE, "nvidia"), ("usr/local", "local"), ("etc/vulkan", "etc/vulkan"),
                            (COMPAT, "compat")])
def test_cve_2025_23359_cve_2026_24260_race_1_a_directory_against_a_link_out(box, outside, stubs, place, target):
    """Whenever it hits, the work happens inside, or the container does not start."""
    path = box.rootfs / place
    path.mkdir(parents=True, exist_ok=True)
    if place == COMPAT:
        stubs.library(path / NEWER, "libcuda.so.1")
    link = path.with_name("exchanged")
    link.symlink_to(outside / target)
    with running(path, link):
        for _ in rounds():
            result = box.start("cat /proc/self/mountinfo").finish()
            box.host.check()
            assert "/outside" not in result.out
            if result.hook_status:
                refused(result, 1)
