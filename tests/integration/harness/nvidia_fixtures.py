# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of nvidia-devices; a test file names this module in its `pytest_plugins`."""

import itertools
import json
import os
import subprocess

import pytest

from harness import engines
from harness.bundle import Bundle
from harness.hooks_d import HookFile
from harness.host import LIMIT_S, Host
from harness.ldcache import box_class
from harness.nvidia_container import KEY
from harness.plan import read_plan
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
    hosts = []

    def make(cgroup="not-hybrid"):
        if os.geteuid() != 0:
            pytest.skip("needs root")
        if not hosts:
            hosts.append(Host(cgroup))
            (scratch / "dev").mkdir()
            hosts[0].keep_journal(scratch / "dev")
        return hosts[0]

    yield make
    try:
        for host in hosts:
            host.check()
    finally:
        for host in hosts:
            host.close()


@pytest.fixture
def nv_box(nv_host, nv_hook, machine, scratch):
    """A function that makes a container with the hook: nv_box(request, *options of the hook, engine=…,
    cgroup=…). It has /proc/driver/nvidia, as if this kernel had the driver."""
    numbers, runtimes = itertools.count(), []

    def make(request=None, *args, engine=engines.RUNTIMES[0], cgroup="not-hybrid"):
        number = next(numbers)
        host = nv_host(cgroup)
        runtime = engine.open(scratch / f"runtime-{number}")
        runtimes.append((runtime, host))
        bundle = Bundle(scratch / f"box-{number}")
        with open(bundle.rootfs / "etc/passwd", "a", encoding="ascii") as passwd:
            passwd.write("user:x:1000:1000::/:/bin/sh\n")
        box = box_class(engine)(host, runtime, bundle, nv_hook,
                                ["--sysroot", machine, "--log-level", "info", *args])
        for folder in ("/proc/driver", "/proc/driver/nvidia"):
            box.tmpfs(folder)
        if engine.mapped:
            box.map_ids(engines.MAP)
        if request is not None:
            box.annotations[KEY] = request
        return box

    yield make
    for runtime, host in runtimes:
        runtime.clean(host)


@pytest.fixture(scope="session")
def stand_in():
    """A process in a mount namespace of its own: the init of a container that is never started."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    host = Host("as-found")
    yield host
    host.close()


@pytest.fixture
def by_hand(nv_hook, machine, scratch, stand_in):
    """A function that runs the hook without a container: by_hand(*options, wrapper=(), **config). With
    `config`, members of config.json, it gets the state of a container that has just been created, with an empty root."""
    def run(*args, wrapper=(), **config):
        text = ""
        if config:
            (scratch / "bundle/rootfs").mkdir(parents=True, exist_ok=True)
            config = {"ociVersion": "1.0.2", "root": {"path": "rootfs"}, "process": {}, **config}
            (scratch / "bundle/config.json").write_text(json.dumps(config), encoding="utf-8")
            text = json.dumps({"ociVersion": "1.0.2", "id": "x", "status": "creating",
                               "pid": stand_in.pid, "bundle": str(scratch / "bundle")})
        words = [*wrapper, nv_hook.executable, "--sysroot", machine, *args]
        return subprocess.run([os.fspath(word) for word in words], check=False, input=text, capture_output=True,
                              encoding="utf-8", timeout=LIMIT_S)
    return run


@pytest.fixture
def plan(by_hand):
    """The same with --plan; gives what it prints, as a dictionary."""
    def run(*args, **config):
        process = by_hand("--plan", *args, **config)
        assert process.returncode == 0, process.stderr
        return read_plan(process.stdout)
    return run
