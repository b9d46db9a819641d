# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of amd-kfd; a test file names this module in its `pytest_plugins`, after that of
nvidia-devices, of which it takes the host that containers run on."""

import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import engines
from harness.amd_container import KEY
from harness.bundle import Bundle
from harness.hooks_d import HookFile
from harness.host import LIMIT_S
from harness.ldcache import box_class
from harness.plan import read_plan
from hosts.amd import AmdHost


@pytest.fixture(scope="session")
def amd_hook(built):
    return HookFile(built / "oci-hooks.d/21-amd-kfd.json", built / "hooks/amd-kfd/amd-kfd")


@pytest.fixture(scope="session")
def hsakmt_probe(tmp_path_factory):
    """The program that opens what ROCm would, for any image."""
    program = tmp_path_factory.mktemp("hsakmt") / "hsakmt_probe"
    source = Path(__file__).resolve().parents[1] / "hsakmt_probe.c"
    subprocess.run(["gcc", "-static", "-O1", "-Wall", "-Werror", "-o", program, source], check=True)
    return program


@pytest.fixture
def amd_machine(scratch, request):
    """What the hook takes for its host: a GPU, and one that is a part of the CPU; or another by on_host()."""
    return AmdHost(scratch / "machine", **getattr(request, "param", {}))


def add_user(box):
    """The image knows a user of the id 1000, in no group of the host's."""
    with open(box.rootfs / "etc/passwd", "a", encoding="ascii") as passwd:
        passwd.write("user:x:1000:1000::/:/bin/sh\n")


@pytest.fixture
def amd_box(nv_host, amd_hook, amd_machine, hsakmt_probe, scratch):
    """A function that makes a container with the hook: amd_box(request, *options of the hook, engine=…, cgroup=…).
    When all of them have run, no node of the host may be other than before."""
    numbers, runtimes, before = itertools.count(), [], []

    def make(request=None, *args, engine=engines.RUNTIMES[0], cgroup="not-hybrid"):
        number = next(numbers)
        host = nv_host(cgroup)
        runtime = engine.open(scratch / f"runtime-{number}")
        runtimes.append((runtime, host))
        box = box_class(engine)(host, runtime, Bundle(scratch / f"box-{number}"), amd_hook,
                                ["--sysroot", amd_machine, "--log-level", "info", *args])
        shutil.copy(hsakmt_probe, box.rootfs / "bin")
        add_user(box)
        if engine.mapped:
            box.map_ids(engines.MAP)
        if request is not None:
            box.annotations[KEY] = request
        before[:] = amd_machine.state()
        return box

    yield make
    for runtime, host in runtimes:
        runtime.clean(host)
    assert amd_machine.state() == before or not runtimes


@pytest.fixture
def amd_by_hand(amd_hook, amd_machine, scratch):
    """A function that runs the hook without a container: amd_by_hand(*options, wrapper=(), **config). With
    `config`, members of config.json, it gets the state of a container that has just been created."""
    def run(*args, wrapper=(), **config):
        text = ""
        if config:
            (scratch / "bundle").mkdir(exist_ok=True)
            config = {"ociVersion": "1.0.2", "root": {"path": "rootfs"}, "process": {}, **config}
            (scratch / "bundle/config.json").write_text(json.dumps(config), encoding="utf-8")
            text = json.dumps({"ociVersion": "1.0.2", "id": "x", "status": "creating", "pid": 12345,
                               "bundle": str(scratch / "bundle")})
        words = [*wrapper, amd_hook.executable, "--sysroot", amd_machine, *args]
        return subprocess.run([os.fspath(word) for word in words], check=False, input=text, capture_output=True,
                              encoding="utf-8", timeout=LIMIT_S)
    return run


@pytest.fixture
def amd_plan(amd_by_hand):
    """The same with --plan; gives what it prints, as a dictionary."""
    def run(*args, **config):
        process = amd_by_hand("--plan", *args, **config)
        assert process.returncode == 0, process.stderr
        return read_plan(process.stdout)
    return run
