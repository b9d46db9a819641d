# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks doctor --try: containers that real engines start, and that leave nothing."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness.admin import FILES, SHIPPED, Command
from harness.newcomer_fixtures import show_gpus
from harness.processes import children
from harness.stopped import wait_until
from hosts.nvidia import TWO, UNUSED, NvidiaHost

pytest_plugins = ["harness.admin_fixtures"]

OK, ERROR = 0, 6
CONF = ('[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n'
        '[engine]\ncgroup_manager = "cgroupfs"\nruntime = "runc"\n')


@pytest.fixture(name="trial")
def trial_fixture(machine, files, oci_gpu_hooks):
    """Tries engines on a host with the hooks and with podman set up for tests; what is left in /tmp is an error."""
    files.write("etc/containers/containers.conf", CONF)

    def trial(*engines):
        done = machine.run([oci_gpu_hooks, "doctor", "--try", "--format", "json", *engines], check=False)
        assert done.stderr == "" or done.returncode not in (OK, ERROR), done.stderr
        sections = {each["title"]: [(one["severity"], one["text"]) for one in each["findings"]]
                    for each in json.loads(done.stdout)["sections"]}
        return sections, done.returncode
    before = left()
    yield trial
    nothing_but(before)


def left():
    return set(Path("/tmp").glob("oci-gpu-hooks-try.*"))


def nothing_but(before):
    """Others on this machine may try their engines at the same time, and remove what they have made, as this one does."""
    wait_until(lambda: left() <= before, "something is left in /tmp")


@pytest.mark.parametrize("engine", ["podman", "runc", "crun"])
def test_what_hooks_give_is_seen(trial, engine):
    sections, status = trial(engine)
    assert status == OK, sections
    findings = sections[engine]
    assert findings[0] == ("ok", "a container that asks for nothing starts, and has nothing")
    assert findings[1][0] == "ok" and findings[1][1].startswith("the hooks are called: one has refused an annotation")
    assert findings[2] == ("ok", "a container that asks for 'io.oci-gpu-hooks.mount-srv=all' is given "
                                 "'/srv/datasets', '/srv/models'")


def test_no_hook_is_called(trial, files):
    for file in FILES.values():
        files.remove(f"{SHIPPED}/{file}")
    sections, status = trial("podman")
    assert status == ERROR
    assert any(text.startswith("no hook was called") for severity, text in sections["podman"] if severity == "error")


def test_an_engine_that_starts_nothing(trial, files):
    files.write("etc/containers/containers.conf", CONF.replace('"runc"', '"no-such-runtime"'))
    sections, status = trial("podman")
    assert status == ERROR
    assert sections["podman"][0][1].startswith("a container that asks for nothing does not start")


@pytest.mark.parametrize("engine", ["podman", "runc", "crun"])
def test_a_device_that_cannot_be_opened_is_an_error(trial, machine, scratch, engine):
    """The container starts with it, as no driver has its number."""
    gpus = NvidiaHost(scratch / "gpus", TWO, numbers=UNUSED)
    gpus.write("usr/bin/nvidia-smi", "")
    show_gpus(machine, gpus)
    machine.mount("-t", "tmpfs", "-o", "mode=755", "tests", "/run")
    sections, status = trial(engine)
    severity, text = sections[engine][-1]
    assert status == ERROR and severity == "error", sections
    assert "'/dev/nvidia-uvm cannot be opened: No such device or address'" in text


def test_an_engine_that_cannot_be_tried(oci_gpu_hooks, installed_host):
    done = Command(oci_gpu_hooks).run("doctor", "--try", "docker")
    assert done.returncode == 2 and "'docker' cannot be tried" in done.stderr
    done = Command(oci_gpu_hooks, installed_host).run("doctor", "--try")
    assert done.returncode == 2 and "--sysroot names another one" in done.stderr


def test_a_signal_ends_it_when_all_is_removed(machine, files, oci_gpu_hooks):
    files.write("etc/containers/containers.conf", CONF)
    before = left()
    with subprocess.Popen(machine.command([oci_gpu_hooks, "doctor", "--try", "runc"]), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as process:
        while left() <= before and process.poll() is None:
            time.sleep(0.001)
        os.kill(wait_until(lambda: children(process.pid), "no doctor", process)[0], signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    nothing_but(before)
