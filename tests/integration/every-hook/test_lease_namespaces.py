# SPDX-License-Identifier: Apache-2.0
"""Workers that are containers themselves, each with a pid namespace of its own: numbers of processes mean others in
each, so that two of them cannot have one directory of leases."""

import re
import signal
import subprocess

import pytest

from harness.expect import started
from harness.leases import DIRECTORY, Container, Leases, ask
from harness.nvidia_container import KEY, refused
from harness.processes import children
from harness.stopped import status, wait_until

pytest_plugins = ["harness.nvidia_fixtures"]


class Worker:
    """A pid namespace on a host, in place of the host for a box; `run` is a directory for its /run below the sysroot."""

    def __init__(self, host, machine, run=None):
        self._host, self.journal = host, host.journal
        mount = f"mount --bind '{run}' '{machine}/run'; " if run else ""
        # pylint: disable=consider-using-with
        self._unshare = subprocess.Popen(
            host.command(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                          "sh", "-ec", f"{mount}exec sleep infinity"]), stdin=subprocess.DEVNULL)
        wait_until(lambda: children(self._unshare.pid), "no first process", self._unshare)
        [self._first] = children(self._unshare.pid)
        wait_until(lambda: status(self._first)["Name"] == "sleep", "no worker", self._unshare)

    def command(self, argv):
        namespaces = f"/proc/{self._first}/ns"
        return ["nsenter", f"--mount={namespaces}/mnt", f"--pid={namespaces}/pid", "--", *map(str, argv)]

    def check(self):
        self._host.check()

    def end(self):
        """With all that runs in it."""
        self._unshare.send_signal(signal.SIGKILL)
        self._unshare.wait()


@pytest.fixture(name="worker")
def worker_fixture(nv_host, machine):
    """A function that starts a worker: worker(run=None)."""
    workers = []

    def start(run=None):
        (machine.path / "run").mkdir(exist_ok=True)
        workers.append(Worker(nv_host("as-found"), machine, run))
        return workers[-1]

    yield start
    for each in workers:
        each.end()


@pytest.fixture(name="box")
def box_fixture(nv_box):
    """A function that makes a container on a worker, which asks for a GPU for itself."""
    def make(worker, request="0"):
        box = ask(nv_box(request, cgroup="as-found"), KEY, "exclusive")
        if worker:
            box.host = worker
        return box

    return make


def test_a_directory_of_another_pid_namespace_is_refused_with_the_command_that_clears_it(worker, box, nv_hook, machine,
                                                                                      nv_host):
    first = Container(box(None)).ready()
    nested = worker()
    message = refused(box(nested, "1").run(), 6, "another pid namespace", "while no container has a GPU")
    command = re.search(r"'(rm [^']+)'", message)[1]
    assert command == f"rm -r {machine}/{DIRECTORY}"
    listed = Leases(nv_hook.executable, machine, before=nested.command([])).run("--list")
    assert listed.returncode == 0 and "who has which GPU is not shown" in listed.stderr and command in listed.stderr
    first.end()
    subprocess.run(command.split(), check=True)
    assert started(box(nested).run()) == "started\n"
    assert nv_host().journal
    refused(box(None).run(), 6, command)


def test_workers_with_directories_of_their_own(worker, box, scratch):
    """Neither knows of the other's: what both may give has to be told apart by --allow."""
    workers = []
    for name in ("one", "two"):
        (scratch / name).mkdir()
        workers.append(worker(scratch / name))
    containers = [Container(box(each)).ready() for each in workers]
    for each, container in zip(workers, containers):
        refused(box(each).run(), 4, container.run.name)
    for container in containers:
        container.end()
    assert started(box(workers[0]).run()) == "started\n"


@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_a_worker_that_is_started_anew(worker, box, scratch, kept):
    """Its containers have ended with it, and a /run of its own is empty. A directory that was kept says nothing of whether
    a worker with that namespace still runs."""
    for name in ("old", "new"):
        (scratch / name).mkdir()
    old = worker(scratch / "old")
    container = Container(box(old)).ready()
    old.end()
    container.kill()
    new = worker(scratch / ("old" if kept else "new"))
    if kept:
        refused(box(new).run(), 6, "another pid namespace", f"{DIRECTORY}")
    else:
        assert started(box(new).run()) == "started\n"
