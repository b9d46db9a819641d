# SPDX-License-Identifier: Apache-2.0
"""A container that is restored from a checkpoint, which may be an image and then has the annotations of its author
(CVE-2026-94603, CVE-2026-53492). runc calls the hooks of createRuntime for it, before the container's mounts are there
again: it gets nothing, and nothing is left in its root."""

import json
import secrets
import shutil
from pathlib import Path

import pytest

from harness import engines
from harness.box import PREFIX
from harness.debian_root import LIBRARIES
from harness.every_hook import NAMES, box_of
from harness.nvidia_container import without_proc_driver
from harness.runtime import Runc, begin
from harness.source import tree

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures", "harness.ldcache_fixtures",
                  "harness.driver_fixtures", "harness.cdi_fixtures"]

STAND_IN = Path(__file__).resolve().parents[1] / "harness/criu_stand_in.py"


class Restore(Runc):
    """runc that restores containers, with a stand-in for CRIU."""

    def __init__(self, directory):
        super().__init__(directory)
        self._directory = directory
        shutil.copy(STAND_IN, directory / "criu")
        (directory / "descriptors.json").write_text(json.dumps(["/dev/null"] * 3))

    def start(self, host, bundle):
        name = secrets.token_hex(32)
        return begin(host, name, self.command(
            "--criu", self._directory / "criu", "restore", "--image-path", self._directory, "--work-path", self._directory,
            "--bundle", bundle.directory, name))

    def has_called_the_hooks(self):
        """Whether no hook failed of the container that was started last."""
        file = self._directory / "criu.called"
        called = file.exists()
        file.unlink(missing_ok=True)
        return called


@pytest.fixture(name="restored", params=NAMES)
def restored_fixture(request, scratch):
    """A container of each hook that asks for all."""
    box = box_of(request.param, request.getfixturevalue)
    box.name, box.first, box.runtime = request.param, [], Restore(scratch / "restore")
    without_proc_driver(box)  # runc lets nothing be there when it restores
    if box.name == "ldcache-update":
        box.annotations[PREFIX + box.name] = f"/{LIBRARIES}"
    return box


def test_a_restored_container_that_asks_is_refused(restored):
    """And so is not restored without what it asks for."""
    before = tree(restored.rootfs)
    result = restored.run()
    assert restored.name + ": container " in result.hook_message, (result.err, result.said)
    assert "'stopped'" in result.hook_message and "checkpoint" in result.hook_message, result.hook_message
    assert result.hook_status == 1 and not restored.runtime.has_called_the_hooks()
    assert tree(restored.rootfs) == before


def test_one_that_asks_for_nothing_is_left_alone(restored):
    """`none` is the default that a host gives every container."""
    before = tree(restored.rootfs)
    restored.loader = "concourse"
    for annotations in ({}, {PREFIX + restored.name: "none"}):
        restored.config["annotations"] = annotations
        result = restored.run()
        assert restored.runtime.has_called_the_hooks(), (result.err, result.said)
        assert tree(restored.rootfs) == before
