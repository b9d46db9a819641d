# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks doctor and the workers of Concourse: what they read, seen through /proc/PID/root."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness.admin import EXECDIR, FILES, OWN, SHIPPED, InstalledHost, later
from harness.admin_worker import ALWAYS, CONCOURSE, DIRECTORY, MachineCommand, Worker, without_podman
from harness import stopped
from harness.fuse import Volume
from harness.stopped import wait_until

pytest_plugins = ["harness.admin_fixtures"]

OK, WARNING, ERROR = 0, 7, 6
MOUNT_SRV = f"{DIRECTORY}/{FILES['mount-srv']}"
RUNC = "usr/local/concourse/bin/runc"


@pytest.fixture(name="command")
def command_fixture(processes):
    """In place of the one for a host in a directory: processes are those of the host that the command runs on."""
    without_podman(processes.host)
    return MachineCommand(processes)


@pytest.fixture(name="worker")
def worker_fixture(tmp_path, built, waiting_program):
    yield Worker(tmp_path / "worker", built, waiting_program)
    shutil.rmtree(tmp_path / "worker")


def test_nothing_is_wrong(command, worker, processes):
    pid = processes.start(worker.path)
    findings, status = command.doctor()
    assert status == OK and {each[0] for each in findings} <= {"ok", "note"}, findings
    assert ("note", f"it reads '/{DIRECTORY}' (its option --containerd-oci-hooks-dir)", "") in findings
    for name, file in FILES.items():
        assert any(each[0] == "ok" and each[1].startswith(f"{name} by '/{DIRECTORY}/{file}': ") for each in findings)
    assert f"\nconcourse worker (pid {pid})\n" in command.run("doctor").stdout


def test_copies_of_other_engines_are_in_nobodys_way(command, worker, processes):
    """podman's policy, beside a worker that calls the hooks by a directory of its own: each as it should be."""
    worker.put(f"{OWN}/{FILES['mount-srv']}", InstalledHost.document("mount-srv", ["--allow", "datasets"]))
    processes.start(worker.path)
    findings, status = command.doctor()
    assert status == OK and not any("not in effect" in each[1] for each in findings), findings


@pytest.mark.parametrize("calls", [True, False])
def test_podman_that_calls_no_hooks_is_a_note_beside_a_worker_that_does(command, worker, processes, calls):
    """As a distribution has it installed for other purposes; without such a worker nobody calls the hooks."""
    processes.host.program("podman")
    processes.start(worker.path, **{} if calls else started())
    findings, status = command.doctor()
    unused = {(each[0], each[2]) for each in findings if each[1] == "it calls none of the hooks of this collection"}
    remedy = "oci-gpu-hooks install --engine "
    assert unused == ({("note", f"{remedy}podman")} if calls else
                      {("warning", f"{remedy}podman"), ("warning", f"{remedy}concourse")}), findings
    assert status == (OK if calls else WARNING), findings


def test_options_win_over_the_environment_and_quickstart_has_its_own(command, worker, processes):
    processes.start(worker.path, ["concourse", "worker", f"--containerd-oci-hooks-dir=/{DIRECTORY}"],
                    ["CONCOURSE_CONTAINERD_OCI_HOOKS_DIR=/no", "CONCOURSE_RUNTIME=containerd"])
    processes.start(worker.path, ["concourse", "quickstart", "--worker-containerd-oci-hooks-dir", f"/{DIRECTORY}"],
                    ["CONCOURSE_WORKER_RUNTIME=containerd", "CONCOURSE_CONTAINERD_OCI_HOOKS_DIR=/no"])
    findings, status = command.doctor()
    assert status == OK and sum("by '/opt/hooks/10-mount-srv.json'" in each[1] for each in findings) == 2, findings


def test_a_worker_with_the_root_of_the_host(command, worker, processes):
    """As most have it; its policy is then what list shows."""
    host = processes.host.path
    shutil.copytree(worker.path / DIRECTORY, host / DIRECTORY)
    shutil.copytree(worker.path / "usr/local/concourse", host / "usr/local/concourse")
    processes.host.put(f"{SHIPPED}/{FILES['mount-srv']}", InstalledHost.document("mount-srv", []))
    processes.start(host)
    findings, status = command.doctor()
    assert status == OK and any("by '/opt/hooks/10-mount-srv.json'" in each[1] for each in findings), findings
    assert not any("not in effect" in each[1] for each in findings), findings


def test_no_worker_runs(command, worker, processes):
    processes.start(worker.path, ["concourse", "web"])
    assert ("note", "there is no engine that reads files of hooks") in [each[:2] for each in command.doctor()[0]]
    processes.host.write("usr/local/concourse/bin/concourse", "")
    assert any(each[1] == "it is installed, and no worker of it runs" for each in command.doctor()[0])


def test_processes_of_another_host_are_not_looked_at(worker, processes, oci_gpu_hooks, tmp_path):
    processes.start(worker.path)
    (processes.host.path / "mnt").mkdir()
    shutil.copytree(processes.host.path / "usr/share", processes.host.path / "mnt/usr/share")
    done = MachineCommand(processes).run("doctor", "--sysroot", "/mnt")
    assert "worker" not in done.stdout and "kernel's version is not known" in done.stdout, (oci_gpu_hooks, tmp_path)


def another_version(worker):
    path = worker.path / EXECDIR / "mount-srv"
    data = path.read_bytes()
    at = data.index(b"\1\0\0\0oci-gpu-hooks\0\0\0") + 20
    path.write_bytes(data[:at] + b"0.0.1\0" + data[at + 6:])


def started(*words, environment=("CONCOURSE_RUNTIME=containerd",)):
    return {"words": ["concourse", "worker", *words], "environment": environment}


# What is broken: how, or how the worker is started; exit status, words of a finding, words of what to do about it.
BROKEN = {
    "stray file": (later.write(f"{DIRECTORY}/README", "about hooks"), {}, ERROR,
                   "does not start with a file", "whatever its name"),
    "another runtime": (later, started("--containerd-oci-hooks-dir", f"/{DIRECTORY}", "--runtime", "guardian"), ERROR,
                        "its runtime is 'guardian', which calls no hooks", "--runtime containerd"),
    "no flag": (
        later.put(f"{SHIPPED}/{FILES['mount-srv']}", InstalledHost.document("mount-srv", [])), started(), ERROR,
        "concourse does not read that directory", "--containerd-oci-hooks-dir"),
    "own copy elsewhere": (
        later.put(f"{OWN}/x.json", InstalledHost.document("mount-srv", [])), started(), ERROR,
        "concourse does not read that directory", "--containerd-oci-hooks-dir"),
    "directory that is not there": (later, started("--containerd-oci-hooks-dir", "/o/hooks"), ERROR,
                                 "there is no directory '/o/hooks'", "name is right"),
    "no executable": (later.remove(f"{EXECDIR}/mount-srv"), {}, ERROR,
                      "is not there: no container is created", "where the worker sees them"),
    "another version": (another_version, {}, WARNING, "is of version '0.0.1'", "of one version"),
    "another program": (
        lambda worker: shutil.copy("/bin/true", worker.path / EXECDIR / "mount-srv"), {}, ERROR,
        "is no hook of this collection", "install the hooks again"),
    "nobody can ask": (
        later.put(MOUNT_SRV, InstalledHost.document("mount-srv", [], {"always": True})), {}, WARNING, "a pipeline can set none",
        "--key-file"),
    "option that there is not": (
        later.put(MOUNT_SRV, InstalledHost.document("mount-srv", [*ALWAYS["mount-srv"], "--alow", "x"], {"always": True})), {},
        ERROR, "unknown option '--alow'", "'args'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(command, worker, processes, name):
    break_it, how, *expected = BROKEN[name]
    break_it(worker)
    processes.start(worker.path, **how)
    command.finds(*expected)


def test_when_does_not_count(command, worker, processes):
    worker.change(MOUNT_SRV, lambda document: document.update(when={"annotations": {"^org": ".*"}}))
    processes.start(worker.path)
    assert command.doctor()[1] == OK


def test_nothing_of_the_worker_is_executed(command, worker, processes):
    for name in FILES:
        worker.remove(f"{EXECDIR}/{name}")
        worker.write(f"{EXECDIR}/{name}", "#!/bin/sh\n>/mark\n")
        (worker.path / EXECDIR / name).chmod(0o755)
    processes.start(worker.path)
    findings, status = command.doctor()
    assert status == ERROR and sum("is no hook of this collection" in each[1] for each in findings) == len(FILES)
    assert not (worker.path / "mark").exists() and not (processes.host.path / "mark").exists()


NOT_BELIEVED = {
    "a user's": ({"uid": 1000}, "its user IDs are '1000 1000 1000 1000'"),
    "root of a container": ({"sys_admin": False}, "has no CAP_SYS_ADMIN"),
    "root of another user namespace": ({"userns": True}, "is in another user namespace"),
    "another program": ({"path": f"/{RUNC}"}, "its executable is '/usr/local/concourse/bin/runc'"),
}


@pytest.mark.parametrize("name", NOT_BELIEVED)
def test_what_is_no_worker(command, worker, processes, name):
    rights, why = NOT_BELIEVED[name]
    pid = processes.start(worker.path, **rights)
    findings, status = command.doctor()
    claims = [text for severity, text, _ in findings if severity == "note" and f"(pid {pid})" in text]
    assert len(claims) == 1 and "a process that is called like a worker" in claims[0] and why in claims[0], findings
    assert not any("/opt/hooks" in each[1] for each in findings), "nothing is read that it names"
    assert status == OK


@pytest.mark.parametrize("rights", [{"uid": 1000}, {"sys_admin": False}, {"userns": True}], ids=lambda each: [*each][0])
def test_a_program_on_a_filesystem_that_does_not_answer(command, worker, processes, rights):
    """Whose process it is is looked at first."""
    volume = Volume(processes.pid, worker.path / "served", worker.path / CONCOURSE)
    try:
        pid = processes.start(worker.path, path="/served/concourse", **rights)
        volume.stand_still()
        findings, status = command.doctor()
        assert status == OK and any(f"(pid {pid}) is taken for none: it " in text for _, text, _ in findings), findings
    finally:
        volume.close()


# A thread unmaps what it has written to, and waits for the file system; another one waits for that.
KEEPS_ITS_MEMORY = r"""
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
enum { size = 4096 };
static char *written;
static void *unmap(void *unused) { munmap(written, size); return unused; }
static void on_signal(int signal) { (void)signal; }
int main(void)
{
    pthread_t thread;
    signal(SIGUSR1, on_signal);
    pause();
    written = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, open("/served/concourse", O_RDWR), 0);
    *written = 1;
    pthread_create(&thread, 0, unmap, 0);
    sleep(1);
    mmap(0, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return 0;
}
"""


def test_a_process_that_keeps_its_memory(command, worker, processes):
    """Nobody can read its command line, and it is a user's."""
    program = worker.path / "usr/bin/keeps"
    program.parent.mkdir()
    subprocess.run(["gcc", "-static", "-x", "c", "-o", program, "-"], input=KEEPS_ITS_MEMORY, text=True, check=True)
    volume = Volume(processes.pid, worker.path / "served", worker.path / CONCOURSE)
    try:
        processes.start(worker.path, path="/usr/bin/keeps", uid=1000)
        wait_until(lambda: int(stopped.status(processes.worker)["SigCgt"], 16), "it takes no signal")
        os.kill(processes.worker, signal.SIGUSR1)
        tasks = Path(f"/proc/{processes.worker}/task")
        wait_until(lambda: [stopped.status(f"{processes.worker}/task/{each.name}")["State"][0]
                            for each in tasks.iterdir()] == ["D", "D"], "its memory can be read")
        findings, status = command.doctor()
        assert status == OK, findings
    finally:
        volume.close()


@pytest.mark.parametrize("owner, mode, why", [(1000, 0o755, "belongs to user 1000"), (0, 0o777, "may be written by")])
def test_a_program_that_others_may_change(command, worker, processes, owner, mode, why):
    path = worker.path / CONCOURSE
    path.chmod(mode)
    shutil.chown(path, owner)
    processes.start(worker.path)
    findings, status = command.doctor()
    assert status == OK and any("called like a worker" in text and why in text for _, text, _ in findings), findings


def test_any_number_of_claims(command, worker, processes):
    for _ in range(12):
        processes.start(worker.path, uid=1000)
    texts = [text for _, text, _ in command.doctor()[0] if "called like a worker" in text]
    assert len(texts) == 1 and texts[0].endswith("; so are 11 more"), texts


def kill_it(machine):
    os.kill(machine.worker, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{machine.worker}"), "it lives")


def make_it_another(machine):
    """Its words and its rights stay the same."""
    os.kill(machine.worker, signal.SIGUSR1)
    wait_until(lambda: os.readlink(f"/proc/{machine.worker}/exe").endswith("/runc"), "it is the same")


@pytest.mark.parametrize("change,why", [(kill_it, ": No such process"), (make_it_another, " became another program")])
@pytest.mark.parametrize("opened", ["environ", DIRECTORY.split("/")[-1]])
def test_one_that_goes_while_it_is_looked_at(command, worker, processes, tmp_path, opened, change, why):
    """It was believed: nothing that it named counts, nor what the host has in such a place."""
    processes.host.put(MOUNT_SRV, InstalledHost.document("mount-srv", ["--allow", "nothing"]))
    pid = processes.start(worker.path)
    with processes.command_stopped("doctor", opened, tmp_path / "trace") as go_on:
        change(processes)
        done = go_on()
    assert done.returncode == ERROR and f"the process {pid}{why}" in done.stdout, done
    assert f"/{DIRECTORY}" not in done.stdout, "neither its own directory nor the host's"
