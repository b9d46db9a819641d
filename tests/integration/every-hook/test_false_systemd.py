# SPDX-License-Identifier: Apache-2.0
"""What listens where systemd does, and does not answer as systemd: the container has its GPU and starts, whatever that
says, and its hook tells what may happen to the GPU later."""

import os
import secrets
from pathlib import Path

import pytest

from harness import runtime
from harness.amd_container import SHOW, given
from harness.expect import started
from harness.nvidia_container import probed

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

FALSE_SYSTEMD = Path(runtime.__file__).with_name("false_systemd.py")
# What each does, and a piece of what the hook says to that.
MODES = {
    "silent": "systemd has not answered within 1000 ms",
    "late": "systemd has not answered within 1000 ms",
    "garbage": "systemd",
    "closes": "systemd",
    "error": "not today",
    "other.service=CGROUP": "systemd's unit 'other.service' is not the container's own, and stays as it is",
    "other.scope=/other.scope": "systemd's unit 'other.scope' is not the container's own, and stays as it is",
    "own.scope=CGROUP": "systemd allows the devices in 'own.scope' too",
}


class BesideFalseSystemd:
    """The runtime in a pid namespace whose process 1 listens at systemd's socket."""

    def __init__(self, inner, mode, log):
        self._inner, self._mode, self._log = inner, mode, log

    def left_over(self):
        return self._inner.left_over()

    def start(self, host, bundle):
        name = secrets.token_hex(32)
        # A /run/systemd of its own: the host's may have the real one.
        alone = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--propagation", "private", "sh", "-ec",
                 'mkdir -p /run/systemd; mount -t tmpfs systemd /run/systemd; exec "$@"', "sh"]
        return runtime.begin(host, name, [*alone, FALSE_SYSTEMD, self._mode, self._log,
                                          *self._inner.command("run", "--bundle", bundle.directory, name)])


@pytest.mark.parametrize("cgroup", ["not-hybrid", "v2"])
@pytest.mark.parametrize("mode", MODES)
def test_it_stops_no_container(amd_box, amd_machine, scratch, mode, cgroup):
    box = amd_box("0", cgroup=cgroup)
    path = box.config["linux"]["cgroupsPath"] = f"/hooks-test-{os.getpid()}-{secrets.token_hex(4)}.scope"
    log = scratch / "calls"
    log.touch()
    box.runtime = BesideFalseSystemd(box.runtime, mode.replace("CGROUP", path), log)
    result = box.run(SHOW)
    assert probed(started(result)) == given(amd_machine.gpus[0])
    assert any(MODES[mode] in line for line in result.said), result.said
    assert ("SetUnitProperties" in log.read_text("ascii")) == mode.startswith("own")
