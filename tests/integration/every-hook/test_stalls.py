# SPDX-License-Identifier: Apache-2.0
"""A volume whose FUSE daemon does not answer, under a runtime that waits for the hook for ever: the hook ends itself
and says which mounts may be at fault. No signal ends the wait for a request that the daemon has read."""

import pytest

from harness import driver_images, engines
from harness.box import at_once
from harness.fuse import Patience, Volume
from harness.ldcache import mount_srv
from harness.stopped import wait_until

pytest_plugins = ["harness.ldcache_fixtures", "harness.nvidia_fixtures", "harness.driver_fixtures"]

RUNC = engines.RUNTIMES[0]
LIMIT_S = 25


@pytest.fixture(name="volume")
def volume_fixture(scratch):
    """A function that gives a box a volume at /volume, and no timeout for its hook."""
    volumes = []

    def give(box):
        volumes.append(Volume(box.host.pid, scratch / f"volume-{len(volumes)}"))
        box.host.expect_table_as_it_is()
        box.volume("/volume", volumes[-1].directory)
        box.timeout = 0
        return volumes[-1]

    yield give
    for volume in volumes:
        volume.close()


def gave_up(result, patience):
    """The hook stopped the container, in time, and by its own decision."""
    assert result.code != 0 and result.out == "" and result.hook_status == 1, (result.err, result.said)
    assert len(result.said) == 1, result.said
    assert f"gave up after {LIMIT_S} s; mounts that another" in result.said[0]
    assert "'/volume' (fuse.server). See to those" in result.said[0]
    timer, wait = patience.seconds()
    # Both leave a second to whoever can still take back what it has done.
    assert timer == LIMIT_S + 1 and LIMIT_S - 5 <= wait <= LIMIT_S + 1


def of_mount_srv(box, hook, srv):
    """The same box with that hook."""
    mount_srv(box, hook, srv, "datasets")
    box.hook, box.args, box.first = hook, ["--source-dir", srv], []
    return box


def test_a_volume_that_does_not_answer_ends_a_hook_in_time(ld_box, hook, srv, volume):
    """Its request for /volume/taken has been read, and that below /volume/left has not."""
    srv.directory("datasets")
    boxes = [ld_box("/volume/taken/lib"), ld_box("/volume/left/lib"), of_mount_srv(ld_box(), hook, srv)]
    (boxes[2].rootfs / "srv").symlink_to("/volume/taken")
    volumes, hooks = [volume(box) for box in boxes], [Patience(box) for box in boxes]
    results = at_once(boxes, "echo started")
    for result, hook in zip(results, hooks):
        gave_up(result, hook)
    # What no signal ends is not waited for; it ends when somebody answers. Of what can be ended nothing is left.
    assert [hook.left() for hook in hooks] == [["D"], [], ["D"]]
    for each in volumes:
        each.close()
    wait_until(lambda: not any(hook.left() for hook in hooks), "a hook stays for ever")


def test_the_directory_for_cuda_compatibility_does_not_answer(files_box, volume):
    box = files_box(image=driver_images.small)
    (box.rootfs / "usr/local/cuda").mkdir(parents=True)
    (box.rootfs / "usr/local/cuda/compat").symlink_to("/volume/taken")
    volume(box)
    hook = Patience(box)
    result = box.run("echo started")
    gave_up(result, hook)


def test_the_source_directory_of_the_host_does_not_answer(engine_box, scratch):
    box = engine_box(RUNC, "data")
    source = Volume(box.host.pid, scratch / "served")
    box.host.expect_table_as_it_is()
    box.args, box.timeout = ["--source-dir", source.directory / "left"], 0
    hook = Patience(box)
    try:
        result = box.run("echo started")
        assert result.hook_status == 1 and len(result.said) == 1, (result.err, result.said)
        assert f"gave up after {LIMIT_S} s; " in result.said[0], result.said
        assert f"'{source.directory}' (fuse.server)." in result.said[0], result.said
        assert hook.left() == []
    finally:
        source.close()
