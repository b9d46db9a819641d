# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks doctor and the workers of Concourse: what they read, seen through /proc/PID/root."""

import contextlib
import json
import subprocess
import time

import pytest

from harness.admin import EXECDIR, FILES, OWN, Command, InstalledHost
from harness.admin_worker import ALWAYS, BOOTED, FOLDER, Worker

pytest_plugins = ["harness.admin_fixtures"]

OK, WARNING, ERROR = 0, 7, 6
MOUNT_SRV = f"{FOLDER}/{FILES['mount-srv']}"
RUNC = "usr/local/concourse/bin/runc"


@pytest.fixture(name="worker")
def worker_fixture(installed_host, built):
    worker = Worker(installed_host, built)
    worker.without_podman()
    return worker


def test_nothing_is_wrong(command, worker):
    findings, status = command.doctor()
    assert status == OK and {each[0] for each in findings} <= {"ok", "note"}, findings
    assert ("note", f"it reads '/{FOLDER}' (its option --containerd-oci-hooks-dir)", "") in findings
    for name, file in FILES.items():
        assert any(each[0] == "ok" and each[1].startswith(f"{name} by '/{FOLDER}/{file}': ") for each in findings)
    assert worker.path.exists()


def test_options_win_over_the_environment_and_quickstart_has_its_own(command, worker):
    worker.started(["worker", f"--containerd-oci-hooks-dir=/{FOLDER}"],
                   ["CONCOURSE_CONTAINERD_OCI_HOOKS_DIR=/no", "CONCOURSE_RUNTIME=containerd"])
    assert command.doctor()[1] == OK
    worker.started(["quickstart", "--worker-containerd-oci-hooks-dir", f"/{FOLDER}"],
                   ["CONCOURSE_WORKER_RUNTIME=containerd", "CONCOURSE_CONTAINERD_OCI_HOOKS_DIR=/no"])
    assert command.doctor()[1] == OK


def test_no_worker_runs(command, worker):
    worker.started(["web"])
    assert ("note", "there is no engine that reads files of hooks") in [each[:2] for each in command.doctor()[0]]
    worker.host.write("usr/local/concourse/bin/concourse", "")
    assert any(each[1] == "it is installed, and no worker of it runs" for each in command.doctor()[0])


def with_script(worker):
    (worker.path / RUNC).write_text("#!/bin/bash\n", encoding="utf-8")


def with_link(worker):
    worker.remove(RUNC)
    worker.link(RUNC, "/usr/bin/runc-with-gpus")


def without_folder(worker):
    worker.started(environment=["CONCOURSE_RUNTIME=containerd"])
    worker.put(f"usr/share/containers/oci/hooks.d/{FILES['mount-srv']}", InstalledHost.document("mount-srv", []))


def other_bytes(worker):
    with (worker.path / EXECDIR / "mount-srv").open("ab") as file:
        file.write(b"\0")


def change_mount_srv(*args):
    return lambda worker: worker.put(MOUNT_SRV, InstalledHost.document("mount-srv", args, {"always": True}))


BROKEN = {
    "stray file": (lambda worker: worker.write(f"{FOLDER}/README", "about hooks"), ERROR, "does not start with a file",
                   "whatever its name"),
    "newer than the worker": (lambda worker: worker.started(age=int(time.time()) - BOOTED - 60), ERROR,
                              "is newer than the worker", "restart"),
    "another runtime": (lambda worker: worker.started(["worker", "--runtime", "guardian"]), ERROR,
                        "its runtime is 'guardian', which calls no hooks", "--runtime containerd"),
    "no flag": (without_folder, ERROR, "concourse does not read that folder", "--containerd-oci-hooks-dir"),
    "own copy elsewhere": (lambda worker: worker.put(f"{OWN}/x.json", InstalledHost.document("mount-srv", [])), ERROR,
                           "concourse does not read that folder", "--containerd-oci-hooks-dir"),
    "folder that is not there": (lambda worker: worker.started(["worker", "--containerd-oci-hooks-dir", "/o/hooks"]),
                                 ERROR, "there is no folder '/o/hooks'", "name is right"),
    "script in place of runc": (with_script, WARNING, f"'/{RUNC}' is no program but a script", "runtime itself"),
    "link in place of runc": (with_link, WARNING, f"'/{RUNC}' is a symlink to '/usr/bin/runc-with-gpus'", "itself"),
    "no executable": (lambda worker: worker.remove(f"{EXECDIR}/mount-srv"), ERROR,
                      "is not there: no container is created", "where the worker sees them"),
    "another executable": (other_bytes, WARNING, "is not the same file", "of one version"),
    "nobody can ask": (change_mount_srv(), WARNING, "a pipeline can set none", "--key-file"),
    "option that there is not": (change_mount_srv(*ALWAYS["mount-srv"], "--alow", "x"), ERROR,
                                 "unknown option '--alow'", "'args'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(command, worker, name):
    break_it, *expected = BROKEN[name]
    break_it(worker)
    command.finds(*expected)


def test_when_does_not_count(command, worker):
    worker.change(MOUNT_SRV, lambda document: document.update(when={"annotations": {"^org": ".*"}}))
    assert command.doctor()[1] == OK


def test_a_file_that_was_taken_away_is_still_called(command, worker):
    worker.remove(MOUNT_SRV)
    worker.started(age=int(time.time()) - BOOTED - 60)
    for path in (worker.path / FOLDER).iterdir():
        path.unlink()
    assert any("was changed since the worker was started" in each[1] for each in command.doctor()[0])


def test_nothing_of_the_worker_is_executed(command, worker, tmp_path):
    mark = tmp_path / "mark"
    for name in FILES:
        worker.remove(f"{EXECDIR}/{name}")
        worker.write(f"{EXECDIR}/{name}", f"#!/bin/sh\ntouch {mark}\n")
        (worker.path / EXECDIR / name).chmod(0o755)
    findings, status = command.doctor()
    assert status == WARNING and not mark.exists(), findings


@contextlib.contextmanager
def real_worker(folder):
    """A process that looks like a worker, in a mount namespace of its own in which the folder is /mnt/hooks."""
    script = f"mount -t tmpfs none /mnt; mkdir /mnt/hooks; cp {folder}/* /mnt/hooks; echo; read end"
    become = ("import os, sys; os.execve('/bin/sh', ['/x/concourse', '-c', sys.argv[1], 'worker'], "
              "{'CONCOURSE_CONTAINERD_OCI_HOOKS_DIR': '/mnt/hooks', 'CONCOURSE_RUNTIME': 'containerd', "
              "'PATH': '/usr/bin:/bin'})")
    process = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "python3", "-c", become, script],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        yield process.pid
    finally:
        process.kill()
        process.wait()


def test_a_running_worker_is_seen_in_its_own_mount_namespace(oci_gpu_hooks, tmp_path):
    folder = tmp_path / "hooks"
    folder.mkdir()
    (folder / "20-nvidia-devices.json").write_text(
        json.dumps(InstalledHost.document("nvidia-devices", ALWAYS["nvidia-devices"])), encoding="utf-8")
    with real_worker(folder) as pid:
        done = Command(oci_gpu_hooks).run("doctor", "--format", "json")
        sections = {each["title"]: each["findings"] for each in json.loads(done.stdout)["sections"]}
    texts = [each["text"] for each in sections[f"concourse worker (pid {pid})"]]
    assert "it reads '/mnt/hooks' (its option --containerd-oci-hooks-dir)" in texts
    assert any("'/mnt/hooks/20-nvidia-devices.json'" in text for text in texts), texts
