# SPDX-License-Identifier: Apache-2.0
"""podman without root: no node can be made, so the host's are mounted, if the user may open them."""

import os

import pytest

from harness.bundle import Bundle
from harness.cdi_fixtures import KEY, MAJOR
from harness.expect import started, told
from harness.nvidia_container import ALLOWED, PROBE, probed
from harness.rootless import RootlessBox, RootlessPodman, add_user

pytest_plugins = ["harness.nvidia_fixtures", "harness.cdi_fixtures"]


@pytest.fixture(name="box")
def box_fixture(nv_host, cdi_hook, cdi_gpu, scratch):
    host = nv_host("v2")
    os.chmod(host.path("/dev/log"), 0o666)
    add_user(host, scratch)
    podman = RootlessPodman(scratch / "podman")
    box = RootlessBox(host, podman, Bundle(scratch / "box"), cdi_hook,
                      ["--sysroot", cdi_gpu, "--log-level", "info"])
    yield box
    podman.clean(host)


def test_a_device(box, cdi_gpu):
    """With the number that it has on the host, where nothing changes."""
    box.annotations[KEY] = "vendor.com/gpu=0"
    before = cdi_gpu.state()
    result = box.run(f"{PROBE} probe /dev/gpu0; echo --; cat /var/lib/vendor/file; {{ echo x >/var/lib/vendor/x; }} 2>&1")
    nodes, files = result.out.split("--\n")
    seen = probed(nodes)["/dev/gpu0"]
    assert (seen.mode, seen.number, seen.said) == ("666", (MAJOR, 0), ALLOWED), result
    assert files.startswith("of the host\n") and "Read-only" in files
    assert cdi_gpu.state() == before
    told(result, "device cgroup")


def test_who_did_not_ask_gets_nothing(box):
    assert started(box.run("ls /dev/gpu0 2>/dev/null || true")) == ""
