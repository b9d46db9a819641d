# SPDX-License-Identifier: Apache-2.0
"""A system call that the kernel lacks, or that seccomp blocks: every hook fails closed. Which hook makes the call is no
matter for those that are made in common/; each of them is tried by one that does."""

import pytest

from harness.every_hook import box_of
from harness.expect import refused_by
from harness.faults import strace
from harness.source import tree

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures", "harness.ldcache_fixtures",
                  "harness.driver_fixtures", "harness.cdi_fixtures"]


@pytest.mark.parametrize("name, call, error, said", [
    ("mount-srv", "openat2", "ENOSYS", "openat2"), ("mount-srv", "open_tree", "EPERM", "open_tree"),
    ("mount-srv", "mount_setattr", "ENOSYS", "mount_setattr"), ("mount-srv", "move_mount", "EPERM", "move_mount"),
    ("mount-srv", "setns", "EPERM", "setns"), ("nvidia-devices", "fsopen", "ENOSYS", "fsopen"),
    ("nvidia-devices", "mknodat", "EPERM", ""), ("amd-kfd", "mknodat", "EPERM", ""),
    ("cdi-devices", "mknodat", "EPERM", ""), ("cdi-devices", "openat2", "EPERM", "openat2"),
    ("cdi-devices", "mount_setattr", "ENOSYS", "mount_setattr"),
    ("amd-kfd", "openat2", "EPERM", "openat2"), ("ldcache-update", "openat2", "EPERM", "openat2"),
    ("ldcache-update", "setns", "ENOSYS", ""), ("ldcache-update", "renameat2", "EPERM", "")])
def test_it_fails_closed_and_names_the_call(request, name, call, error, said):
    """What it made is gone again."""
    box = box_of(name, request.getfixturevalue)
    own = ("dev", "proc", "sys")  # where the runtime itself makes something for every container
    before = {path: each for path, each in tree(box.rootfs).items() if path.parts[0] not in own}
    box.wrapper = strace("-e", f"inject={call}:error={error}")
    result = box.run()
    refused_by(name, result, None, said)
    assert result.hook_status in (1, 6), result.said
    after = {path: each for path, each in tree(box.rootfs).items() if path.parts[0] not in own}
    assert {path: after[path] for path in before} == before
    # The files of every tree, and those of mount-srv, which the box of ldcache-update has as well.
    assert {str(path) for path in after if path not in before} <= {"srv", "srv/driver"}
