# SPDX-License-Identifier: Apache-2.0
"""Somebody renames, kills or comes along while hooks are at work. Whenever it hits, the container has
its directories, or does not start and says why; the host stays as it was. RACE_SECONDS: for how long each
race goes on."""

import contextlib
import os
import random
import tempfile

import pytest

from harness import mounts
from harness.exchange import rounds, running
from harness.expect import refused
from harness.source import tree
from harness.turns import SPACES, in_turns

NAMES = [f"d{n}" for n in range(12)]
SCRIPT = "cat /proc/self/mountinfo"


@pytest.fixture(name="box", params=SPACES, ids=str)
def box_fixture(request, srv, engine_box):
    srv.directories(*NAMES)
    return engine_box(request.param, "all")


@pytest.fixture(name="outside")
def outside_fixture(scratch):
    """What a mount or a placeholder would hit if it were led out."""
    outside = scratch / "outside"
    (outside / "d3").mkdir(parents=True)
    (outside / "self").mkdir()
    (outside / "d3/sentinel").write_text("do not touch\n")
    before = tree(outside)
    yield outside
    assert tree(outside) == before


def check(box, result):
    """Each directory is where it was promised, or the hook says what was wrong. Gives whether they are."""
    if result.code != 0 and result.hook_status is None:
        return None  # the runtime itself was hit, before or after the hook
    if result.code != 0:
        refused(result, 1)
        return False
    seen = [m for m in mounts.parse(result.out) if m.root.startswith(str(box.args[1]))]
    assert seen and all(m.options >= {"ro", "nosuid", "nodev"} for m in seen), result.out
    return True


def run(box):
    """A round; whatever happens, the host's mount table is as before."""
    result = box.start(SCRIPT).finish()
    box.host.check()
    return check(box, result)


def again(box, *directories):
    """The image as it was before the round."""
    for directory in directories:
        for path in sorted(directory.rglob("*"), reverse=True):
            path.unlink() if path.is_symlink() or path.is_file() else path.rmdir()


@in_turns("target", ["root", "outside"])
def test_race_1_cve_2021_30465_a_target_against_a_link(box, outside, target):
    (box.rootfs / "srv/d3").mkdir(parents=True)
    link = box.rootfs / "srv/link"
    link.symlink_to("/" if target == "root" else outside / "d3")
    with running(box.rootfs / "srv/d3", link):
        ended = {run(box) for _ in rounds()}
    assert ended <= {True, False, None} and ended != {None}


@in_turns("target", ["root", "outside"])
def test_race_2_cve_2024_45310_a_parent_against_a_link(box, outside, target):
    """Placeholders are made anew in each round."""
    (box.rootfs / "srv").mkdir()
    link = box.rootfs / "link"
    link.symlink_to("/" if target == "root" else outside)
    host_root = sorted(os.listdir("/"))
    ended = set()
    for _ in rounds():
        with running(box.rootfs / "srv", link):
            ended.add(run(box))
        again(box, *(path for path in (box.rootfs / "srv", link) if not path.is_symlink()))
        for name in NAMES:  # the link to / leads to the image's own root
            with contextlib.suppress(FileNotFoundError):
                (box.rootfs / name).rmdir()
    assert ended != {None} and sorted(os.listdir("/")) == host_root


@pytest.mark.parametrize("box", SPACES[1:2], ids=str, indirect=True)
def test_race_3_cve_2019_16884_proc_against_a_link(box, outside):
    """The image's /proc, which the runtime mounts on, and a directory of it that is no procfs."""
    (box.rootfs / "link").symlink_to(outside)
    box.config["mounts"] = [m for m in box.config["mounts"] if m["destination"] != "/proc"]
    box.config["linux"]["maskedPaths"] = box.config["linux"]["readonlyPaths"] = []
    box.args += ["--log-level", "info"]
    with running(box.rootfs / "proc", box.rootfs / "link"):
        for _ in rounds():
            result = box.start(SCRIPT).finish()
            box.host.check()
            mounted = [line for line in result.said if "mounted '" in line]
            assert len(mounted) == len(NAMES) or result.hook_status == 1, result
            again(box, box.rootfs / "srv")


@pytest.mark.parametrize("box", SPACES[0:1], ids=str, indirect=True)
def test_race_4_renames_elsewhere_do_not_matter(box):
    """The kernel then asks to try again (EAGAIN) whoever resolves a `..` inside a root. On a disk: in memory, names
    change so fast that the hook may give up, as it does after 128 times."""
    (box.rootfs / "data/in").mkdir(parents=True)
    (box.rootfs / "srv").symlink_to("data/../" * 30 + "data/in")
    with contextlib.ExitStack() as storms:
        directory = storms.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp"))
        for _ in range(os.cpu_count() or 1):
            storms.enter_context(running("storm", directory))
        for _ in rounds():
            assert run(box) is True
            again(box, box.rootfs / "data/in")


@pytest.mark.parametrize("box", SPACES[1:2], ids=str, indirect=True)
def test_race_5_hooks_at_the_same_time(box):
    """Two hooks for one container, and containers that share an image's directories."""
    for _ in rounds():
        first = box.start(SCRIPT)
        together = [first, *(box.runtime.start(box.host, box.bundle) for _ in range(3))]
        results = [each.finish() for each in together]
        # No hook fails. A runtime may, where four make the same mount points at once: None.
        outcomes = [check(box, result) for result in results]
        assert True in outcomes and False not in outcomes, results
        box.host.check()
        again(box, box.rootfs / "srv")


@pytest.mark.parametrize("box", SPACES[0:1], ids=str, indirect=True)
def test_race_6_the_init_dies_while_the_hook_enters(box):
    """Killed at any moment; it is a child then that the runtime has not waited for."""
    chance = random.Random(6)
    for _ in rounds():
        box.first = [kill_init_after(chance.uniform(0, 0.03))]
        result = box.start(SCRIPT).finish()
        box.host.check()
        if result.said:
            assert result.said == (f"mount-srv: container {result.name[:12]}: the container's init "
                                   "process has ended",)
        again(box, box.rootfs / "srv")


def kill_init_after(seconds):
    """A hook that goes before ours, and leaves somebody behind who kills."""
    script = ("pid=$(sed 's/.*\"pid\": *\\([0-9]*\\).*/\\1/');"
              f" (sleep {seconds:.4f}; kill -9 $pid) >/dev/null 2>&1 </dev/null &")
    return {"path": "/bin/sh", "args": ["sh", "-c", script], "env": ["PATH=/usr/bin:/bin"]}
