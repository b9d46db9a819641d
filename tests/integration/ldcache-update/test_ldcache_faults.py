# SPDX-License-Identifier: Apache-2.0
"""ldcache-update killed or hindered in the middle: a cache is always whole, and the next try works."""


import pytest

from harness.expect import started, told
from harness.faults import changing_calls, strace
from harness.ldcache import CACHE, CONF, read, refused
from harness.source import tree

pytest_plugins = ["harness.ldcache_fixtures"]

PROBE = "/probe libgpu.so.1 libz.so.1"
FOUND = "libgpu.so.1 /srv/driver/libgpu.so.1\nlibz.so.1 /srv/driver/libz.so.1\n"


@pytest.fixture(name="box")
def box_fixture(srv_box):
    return srv_box()


def killed(box, old, name, when):
    """The run in which the hook is killed at that call. The kernel may have made it begin a call again when the calls
    were counted, because something else on this machine was mounted or renamed meanwhile: then there is one fewer."""
    while True:
        box.wrapper = strace("-e", f"inject={name}:signal=SIGKILL:when={when}")
        (box.rootfs / CACHE).unlink()
        (box.rootfs / CACHE).write_bytes(old)
        (box.rootfs / CONF).unlink(missing_ok=True)
        result = box.run(PROBE)
        if result.code != 0 or when == 1:
            return result
        assert started(result) == FOUND
        when -= 1


@pytest.mark.parametrize("readonly", [False, True])
def test_killed_at_any_call_that_changes_something(box, srv_box, readonly):
    """At the first and at the last one of each kind: the cache is the old one or the new one."""
    pattern = srv_box()
    for each in (box, pattern):
        each.config["root"]["readonly"] = readonly
    old = (box.rootfs / CACHE).read_bytes()
    for name, count in changing_calls(pattern, PROBE, FOUND).items():
        for when in {1, count}:
            result = killed(box, old, name, when)
            assert result.code != 0 and result.out == "" and "killed" in result.err, (name, when)
            now = (box.rootfs / CACHE).read_bytes()
            assert now == old or not readonly and "libgpu.so.1" in [e.name for e in read(now)]
    box.wrapper = ()
    assert started(box.run(PROBE)) == FOUND


@pytest.mark.parametrize("call, when, error", [
    ("write", 1, "ENOSPC"), ("write", 2, "EDQUOT"), ("renameat2", 1, "EROFS"), ("renameat2", 2, "EIO")])
def test_a_failure_in_the_middle_leaves_the_image_as_it_was_or_does_what_can_be_done(box, call, when, error):
    before = tree(box.rootfs / "etc")
    box.wrapper = strace("-e", f"inject={call}:error={error}:when={when}")
    result = box.run(PROBE)
    if when == 1:  # of the file that only a later ldconfig reads
        assert started(result) == FOUND and not (box.rootfs / CONF).exists()
        told(result, f"the file '/{CONF}' is left out: ")
        return
    refused(result, 1)
    now = tree(box.rootfs / "etc")
    assert {path: now[path] for path in now if path in before} == before
    assert [str(path) for path in now if path not in before] in ([], [CONF[4:]])
    box.wrapper = ()
    assert started(box.run(PROBE)) == FOUND


@pytest.mark.parametrize("call, error", [
    ("unshare", "EPERM"), ("fsopen", "EPERM"), ("fsconfig", "ENOSYS"), ("fsmount", "ENOMEM"), ("open_tree", "ENOMEM"),
    ("mount_setattr", "ENOSYS"), ("move_mount", "EPERM")])
def test_a_mount_that_fails_on_a_read_only_root(box, call, error):
    """What is mounted over its cache is put together before the container is entered."""
    box.config["root"]["readonly"] = True
    before = tree(box.rootfs / "etc")
    box.wrapper = strace("-e", f"inject={call}:error={error}")
    result = box.run(PROBE)
    refused(result, None, call)
    assert result.hook_status in (1, 6) and tree(box.rootfs / "etc") == before
    box.wrapper = ()
    assert started(box.run(PROBE)) == FOUND
