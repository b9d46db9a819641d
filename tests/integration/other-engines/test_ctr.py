# SPDX-License-Identifier: Apache-2.0
"""containerd's own client, with a whole config.json: each hook gives what it gives elsewhere, also to a later exec, and
what is refused is shown with the hook's own text."""

import os
import re
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from harness import engines, every_hook
from harness.amd_container import SHOW
from harness.amd_container import given as given_amd
from harness.containerd import Containerd, Ctr, programs
from harness.expect import started
from harness.host import LIMIT_S
from harness.leases import Container, ask
from harness.nvidia_container import KEY, PROBE, alive, given, probed
from harness.stopped import wait_until

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures", "harness.ldcache_fixtures",
                  "harness.driver_fixtures", "harness.cdi_fixtures"]

NODES = f"{PROBE} probe /dev/nvidia*"
UNIT = Path(__file__).resolve().parents[3] / "examples/concourse/worker/oci-gpu-hooks.conf"


@pytest.fixture(name="journal_host")
def journal_host_fixture(nv_host):
    """For all hooks the same host: the daemon is on it."""
    return nv_host("v2")


class CtrEngine(engines.Engine):
    """ctr in place of a runtime by itself."""

    daemon = None

    def open(self, directory):
        return Ctr(self.daemon)


@pytest.fixture(name="engine", params=[False, True], ids=["ctr", "ctr-userns"])
def engine_fixture(request, nv_host, scratch, monkeypatch):
    monkeypatch.setenv("PATH", f"{programs()}:{os.environ['PATH']}")
    daemon = Containerd(nv_host("v2"), scratch / "containerd")
    engine = CtrEngine("runc", mapped=request.param)
    object.__setattr__(engine, "daemon", daemon)  # it is frozen
    yield engine
    daemon.close()


def test_a_gpu(nv_box, machine, engine):
    with alive(nv_box("1", engine=engine, cgroup="v2"), NODES) as container:
        seen = [container.out, *(container.exec(user, PROBE + NODES) for user in (0, 1000))]
    for text in seen:
        assert probed(text) == given(machine.gpus[1])
    assert started(nv_box(None, engine=engine, cgroup="v2").run("echo /dev/nvidia*")) == "/dev/nvidia*\n"


def test_what_is_refused(nv_box, engine):
    result = nv_box("12", engine=engine, cgroup="v2").run()
    assert result.code != 0 and result.out == ""
    assert "exit status 3" in result.err and "no GPU '12': this host has 0 (" in result.err


def test_an_amd_gpu(amd_box, amd_machine, engine):
    assert probed(started(amd_box("0", engine=engine, cgroup="v2").run(SHOW))) == given_amd(amd_machine.gpus[0])


def test_directories_and_their_libraries(srv_box, engine):
    """mount-srv brings the directory, and ldcache-update makes it known."""
    found = started(srv_box(engine=engine).run("/probe libgpu.so.1; touch /srv/driver/x 2>&1 || :"))
    assert "libgpu.so.1 /srv/driver/libgpu.so.1\n" in found and "Read-only file system" in found


@pytest.mark.parametrize("name", every_hook.NAMES)
def test_an_executable_that_is_missing(request, engine, name):
    box = every_hook.box_of(name, request.getfixturevalue, engine)
    box.wrapper = ("/nonexistent/hook",)
    result = box.run()
    assert result.code != 0 and result.out == "" and "/nonexistent/hook: no such file" in result.err


def processes_of(name):
    """Those whose command line has the container's name: the client, the shim, the runtime."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue  # gone meanwhile
        if name.encode() in words:
            found.append(words)
    return found


def test_a_worker_that_stops_ends_what_waits(nv_box, machine, engine, leases, build_root):
    """By the line of its unit; and who has a GPU goes on."""
    def start(wait=None):
        box = ask(nv_box("0", "--max-wait", "1h", engine=engine, cgroup="v2"), KEY, "exclusive", wait)
        box.timeout = 0
        return Container(box)

    holder = start().ready()
    waiter = start("1h")
    leases.wait_for(waiter.run.name, process=waiter.run.process)
    assert any(words.startswith(b"/") and b"containerd-shim" in words for words in processes_of(waiter.run.name))
    program, *words = shlex.split(re.search("^ExecStop=-(.*)$", UNIT.read_text("utf-8"), re.MULTILINE)[1])
    began = time.monotonic()
    subprocess.run([build_root / "admin" / program, *words, "--sysroot", machine.path], check=True, timeout=LIMIT_S)
    result = waiter.end()
    took = time.monotonic() - began
    assert result.code != 0 and "ended by SIGTERM while waiting for a GPU" in result.err, result
    wait_until(lambda: not processes_of(waiter.run.name), "there is a process left")
    print(f"the container was given up {took:.2f} s after the line")
    assert leases.rows("container", "state") == [(holder.run.name, "running")]
    assert holder.end().code == 0
