# SPDX-License-Identifier: Apache-2.0
"""Attacks by an image through the directory of CUDA's compatibility libraries, by the numbers of the CVEs in which
NVIDIA's tools fell for them. Nothing of the image is mounted, run or trusted, and nothing outside it is looked at."""

import os
import re
import shutil

import pytest

from harness.driver_attacks import CLIMB, COMPAT, LOOK, NEWER, OURS, SHAPES, look_at, plant
from harness.expect import started
from harness.turns import SPACES, in_turns

pytest_plugins = ["harness.nvidia_fixtures", "harness.ldcache_fixtures", "harness.driver_fixtures",
                  "harness.driver_attack_fixtures"]


@in_turns("place, target", [(place, target) for place in ("usr/local/cuda", COMPAT, f"{COMPAT}/{NEWER}", "usr/local")
                            for target in ("{outside}", CLIMB + "{outside}", "/proc/1/root{outside}", "/", "itself")])
def test_cve_2024_0132_cve_2025_23359_h10_the_compat_directory_is_a_link(box, outside, scratch, place, target):
    """It is not seen what is outside, and nothing is mounted from anywhere but the host's driver."""
    names = {"usr/local/cuda": "cuda", "usr/local": "local", COMPAT: "compat"}
    directory = outside / names.get(place, f"compat/{NEWER}")
    plant(box.rootfs / place, os.path.basename(place) if target == "itself" else target.format(outside=directory))
    found = OURS
    if place == "usr/local":  # where the tree belongs, too
        found = OURS.replace("/usr/local", "") if target == "/" else None
    assert look_at(box, scratch) == found


@in_turns("where", ["usr/local/cuda", COMPAT, f"{COMPAT}/{NEWER}"])
def test_cve_2025_23359_such_a_link_leads_to_files_inside(box, outside, scratch, where):
    """They are the image's own, and so may be used; but not by a mount."""
    shutil.copytree(outside, box.rootfs / str(outside)[1:])
    directory = {"usr/local/cuda": "cuda", COMPAT: "compat"}.get(where, f"compat/{NEWER}")
    plant(box.rootfs / where, outside / directory)
    said = look_at(box, scratch)
    assert said.startswith(f"libcuda.so.1 {outside}/") and said.endswith(f"{NEWER}\n"), said


def fill_with_junk(directory, stubs):
    whole = stubs.library(directory / "libwhole.so.575.51.03", "libwhole.so.1").read_bytes()
    for number, text in enumerate((b"", b"\x7fELF", whole[:40], whole[:200], whole[:200] + b"\xff" * 400,
                                   whole[:56] + b"\xff\xff" + whole[58:])):
        (directory / f"libjunk{number}.so.575.51.03").write_bytes(text)
    (directory / "libline\n\x1b[31m.so.575.51.03").write_bytes(whole)
    (directory / f"lib{'x' * 200}.so.575.51.03").write_bytes(whole)


JUNK = {**SHAPES, "directory": os.mkdir, "cut": lambda path: path.write_bytes(b"\x7fELF\2\1\1" + bytes(40)),
        "huge": lambda path: (path.write_bytes(b"\x7fELF\2\1\1"), os.truncate(path, 1 << 40)),
        "locked": lambda path: (path.write_bytes(b""), path.chmod(0))}


@in_turns("shape", JUNK)
def test_h7_h10_h19_the_images_libcuda_is_none(box, scratch, stubs, watch, shape):
    """A device or a FIFO is not even opened; nobody waits, and no message has the image's bytes in it."""
    (box.rootfs / COMPAT).mkdir(parents=True)
    fill_with_junk(box.rootfs / COMPAT, stubs)
    JUNK[shape](box.rootfs / COMPAT / NEWER)
    for number, name in enumerate(("libcudadebugger.so.575.51.03", "libnvidia-nvvm.so.575.51.03")):
        JUNK[shape](box.rootfs / COMPAT / name)
        if shape in ("FIFO", "device"):
            (box.rootfs / f"kept{number}").hardlink_to(box.rootfs / COMPAT / name)
    opened = watch(*box.rootfs.glob("kept*"))
    box.wrapper = ("/usr/bin/prlimit", "--as=134217728", "--cpu=5")
    assert look_at(box, scratch) == OURS and opened() == []


@pytest.mark.parametrize("box", SPACES[:1], ids=str, indirect=True)
def test_h10_a_compat_directory_with_no_end(box, scratch, stubs):
    directory = box.rootfs / COMPAT
    first = stubs.library(directory / "libcuda.so.600.1", "libcuda.so.1")
    for number in range(20000):
        os.link(first, directory / f"lib{number}.so.600.1")
    box.wrapper = ("/usr/bin/prlimit", "--as=134217728", "--cpu=5")
    assert look_at(box, scratch) == OURS


@pytest.mark.parametrize("box", SPACES[1:], ids=str, indirect=True)
def test_cve_2024_0135_cve_2025_23266_nothing_of_the_image_or_the_driver_is_run_or_mapped(box, scratch, stubs):
    stubs.library(box.rootfs / COMPAT / NEWER, "libcuda.so.1")
    trace = scratch / "trace"
    box.wrapper = ("/usr/bin/strace", "-D", "-f", "-qq", "-o", trace, "-e", "trace=execve,execveat,mmap,mprotect")
    started(box.run(LOOK))
    text = trace.read_text()
    assert text.count("execve") == 1
    assert not re.findall(r"^.*PROT_EXEC.*, [3-9]\d*, .*$", text, re.MULTILINE)
