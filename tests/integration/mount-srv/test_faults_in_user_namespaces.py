# SPDX-License-Identifier: Apache-2.0
"""Faults in what the hook does for a container with a user namespace alone: copies of the directories go
through a child of the hook, and placeholders are made as somebody else."""

import shutil
import time

import pytest

from harness import engines
from harness.expect import refused, started
from harness.faults import strace
from harness.source import tree
from harness.stopped import find

RUNC, CRUN = engines.MAPPED
READ = "cat /srv/a/words /srv/license.txt"
WORDS = "words of a\nwords\n"
LOCKING = ["unshare", "fsopen", "fsconfig", "fsmount", "memfd_create", "mkdirat", "mknodat"]


@pytest.fixture(name="new_one")
def new_one_fixture(srv, engine_box, journal_host):
    """A function that makes a container for directories with a mount below."""
    srv.directory("a")
    (srv / "a/live").mkdir()
    srv.write("license.txt", "words\n")
    journal_host.mount("-t", "tmpfs", "tmpfs", srv / "a/live")
    return lambda engine: engine_box(engine, "all")


def works_afterwards(box):
    box.wrapper, box.timeout = (), None
    assert started(box.run(READ)) == WORDS


@pytest.mark.parametrize("call", [*LOCKING, "clone", "setns", "setfsgid", "setfsuid", "move_mount"])
def test_killed_in_the_middle(new_one, srv, call):
    """The hook or its child, whoever makes the call first."""
    box, before = new_one(RUNC), tree(srv.path)
    box.wrapper = strace("-e", f"inject={call}:signal=SIGKILL:when=1")
    result = box.run(READ)
    assert result.code != 0 and result.out == "", result
    assert tree(srv.path) == before
    shutil.rmtree(box.rootfs / "srv", ignore_errors=True)
    works_afterwards(box)


@pytest.mark.parametrize("call, error", zip([*LOCKING[:-2], "clone"], ["ENOSYS", "EPERM", "ENOSPC"] * 2))
def test_a_call_that_fails_or_is_refused(new_one, call, error):
    """It fails closed: the mounts are not given without the lock."""
    box = new_one(CRUN)
    before = tree(box.rootfs)
    box.wrapper = strace("-e", f"inject={call}:error={error}")
    what = "cannot make a private place for mounts"
    if call in ("memfd_create", "clone"):
        what = "cannot lock"
    elif call.startswith("fs"):
        what = "cannot make a tmpfs"
    refused(box.run(READ), None, what, call)
    assert tree(box.rootfs) == before


@pytest.mark.parametrize("engine", engines.MAPPED[:1], ids=str)
def test_a_child_that_fails_is_noticed(new_one, engine):
    """As where the host allows no more user namespaces. Only the child makes that call."""
    box = new_one(engine)
    box.wrapper = strace("-e", "inject=fchdir:error=ENOSPC:when=1")
    refused(box.run(READ), None, "cannot lock", "user namespace", "No space left")
    works_afterwards(box)


@pytest.mark.parametrize("engine", engines.MAPPED[1:], ids=str)
def test_a_child_that_is_killed_is_noticed(new_one, engine):
    box = new_one(engine)
    box.wrapper = strace("-e", "inject=fchdir:signal=SIGKILL:when=1")
    refused(box.run(READ), None, "cannot lock", "user namespace")
    works_afterwards(box)


@pytest.mark.parametrize("engine", engines.MAPPED, ids=str)
def test_no_orphan_is_left_when_the_hook_times_out(new_one, engine):
    """The child is held up; the runtime kills the hook alone."""
    box = new_one(engine)
    box.wrapper = strace("-e", "inject=fchdir:delay_enter=3000000:when=1")
    box.timeout = 1
    result = box.run(READ)
    assert result.code != 0 and result.out == "" and "time" in result.err, result
    deadline = time.monotonic() + 20
    while find(box.hook.executable, str(box.args[1])):
        assert time.monotonic() < deadline, "the hook's child goes on"
        time.sleep(0.05)
    works_afterwards(box)
