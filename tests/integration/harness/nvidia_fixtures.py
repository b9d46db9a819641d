# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of nvidia-devices; a test file names this module in its `pytest_plugins`."""

from contextlib import ExitStack

import pytest

from harness.boxes import boxes, by_hand, opened_host, planned
from harness.hooks_d import HookFile
from harness.leases import Leases
from hosts.nvidia import EIGHT, NvidiaHost


@pytest.fixture(scope="session")
def nv_hook(built):
    return HookFile(built / "oci-hooks.d/20-nvidia-devices.json",
                    built / "hooks/nvidia-devices/nvidia-devices")


@pytest.fixture
def machine(request, scratch):
    """What the hook takes for its host: eight GPUs, or those that a test names."""
    return NvidiaHost(scratch / "machine", getattr(request, "param", EIGHT))


@pytest.fixture
def nv_host(scratch):
    """A function that gives a host, always the same, which keeps what hooks say to syslog. Which cgroups it
    has: "as-found", "v2", or "not-hybrid", on which every engine runs."""
    with ExitStack() as stack:
        hosts = []

        def make(cgroup="not-hybrid"):
            if not hosts:
                hosts.append(stack.enter_context(opened_host(cgroup, scratch)))
            return hosts[0]

        yield make


@pytest.fixture
def nv_box(nv_host, nv_hook, machine, scratch):
    """A function that makes a container with the hook, see harness.boxes. It has /proc/driver/nvidia, as if this kernel
    had the driver."""
    def prepare(box):
        with open(box.rootfs / "etc/passwd", "a", encoding="ascii") as passwd:
            passwd.write("user:x:1000:1000::/:/bin/sh\n")
        for directory in ("/proc/driver", "/proc/driver/nvidia"):
            box.tmpfs(directory)

    with boxes(nv_host, nv_hook, ["--sysroot", machine, "--log-level", "info"], scratch, prepare) as make:
        yield make


@pytest.fixture(scope="session")
def stand_in():
    """A process in a mount namespace of its own: the init of a container that is never started."""
    with opened_host("as-found") as host:
        yield host


@pytest.fixture(name="by_hand")
def by_hand_fixture(nv_hook, machine, scratch, stand_in):
    return by_hand(nv_hook, machine, scratch, stand_in.pid)


@pytest.fixture
def plan(by_hand):  # pylint: disable=redefined-outer-name
    return planned(by_hand)


@pytest.fixture
def leases(nv_hook, machine):
    """What --list says on the host."""
    return Leases(nv_hook.executable, machine)
