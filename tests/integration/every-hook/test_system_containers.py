# SPDX-License-Identifier: Apache-2.0
"""A worker in a system container: what `install` puts in effect there is what its containers run. unshare(1) makes the
container as LXD does; with LXD=1, in tests/long, it is LXD's own, set up by the lines of examples/lxd."""

import hashlib
import json
import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness import concourse
from harness.box import Box
from harness.boxes import opened_host
from harness.bundle import Bundle
from harness.leases import Container
from harness.lxd import EXAMPLE, LxdContainer
from harness.nvidia_container import refused
from harness.runtime import Runc
from harness.system_container import DRIVER, SystemContainer
from hosts import driver
from hosts.nvidia import FOUR, NvidiaHost

DIRECTORY = "/etc/oci-gpu-hooks/concourse-hooks.d"
KEYS = "/etc/oci-gpu-hooks/keys"
LEASES = "/run/oci-gpu-hooks/leases"
NODES = "ls -d /dev/nvidia[0-9]* | sort | tr '\\n' ' '; echo"
SCOPE = "the containers of this user namespace's root alone"
PARAM = "OCI_GPU_HOOKS_NVIDIA_DEVICES"
BY_TAG = ("--opt-in", "always", "--request", "any:1", "--min-lease", "exclusive")
BY_KEY = ("--opt-in", "environment", "--key-file", KEYS)
ASKED = ("--opt-in", "environment")
# In PCI order the last two of the machine's four are the worker's.
PASSED = FOUR[2:]
WITH_LXD = "LXD" in os.environ


def lxd_alone(test):
    """One that LXD's own container is needed for; there is none of that name without it."""
    return test if WITH_LXD else None


@pytest.fixture(name="shared", scope="module")
def shared_fixture():
    with tempfile.TemporaryDirectory(prefix="system-") as directory:
        os.chmod(directory, 0o755)
        yield Path(directory)


@contextmanager
def unshared(machine, shared, build_root):
    (shared / "installed").mkdir()
    subprocess.run(["meson", "install", "-C", build_root, "--no-rebuild", "--destdir", shared / "installed"],
                   check=True, capture_output=True)
    with opened_host("as-found") as host:
        system = SystemContainer(host, machine, PASSED, shared / "in", shared / "installed/usr/local")
        try:
            yield system
        finally:
            system.close()


@contextmanager
def by_lxd(machine, shared, build_root):
    done = subprocess.run([EXAMPLE.parents[1] / "packaging/tarball", "--build", build_root, shared / "archive"],
                          check=True, capture_output=True, text=True)
    system = LxdContainer(machine.path, shared / "in", done.stdout.splitlines()[0])
    try:
        for section in ("Devices", "AMD", "Hooks", "Unit", "Look"):
            system.follow(section)
        yield system
    finally:
        system.close()


@pytest.fixture(name="system", scope="module")
def system_fixture(shared, build_root):
    machine = NvidiaHost(shared / "machine", FOUR)
    driver.install(machine.path)
    (shared / "in").mkdir()
    with (by_lxd if WITH_LXD else unshared)(machine, shared, build_root) as system:
        yield system


class Task(Box):
    """The container of a task, with the hooks that are in the worker's directory."""

    def __init__(self, system, directory, params):
        super().__init__(system, Runc(directory / "run"), Bundle(directory / "box"), None, [])
        concourse.make(self, "task", params=params)
        for path in ("/proc/driver", "/proc/driver/nvidia"):
            self.tmpfs(path)
        system.prepare(self)
        system.give(directory)

    def _entries(self):
        files = self.host.run("sh", "-c", f"cat {DIRECTORY}/*").stdout
        return [document["hook"] for document in documents(files)]


def documents(text):
    """The JSON values that stand one behind the other."""
    decoder, text = json.JSONDecoder(), text.strip()
    while text:
        value, end = decoder.raw_decode(text)
        yield value
        text = text[end:].strip()


@pytest.fixture(name="task")
def task_fixture(system):
    """A function that starts the container of a task: task(*params). Its init is gdn-init, and does nothing once it is
    ready."""
    tasks = []

    def start(*params):
        directory = Path(tempfile.mkdtemp(dir=system.shared))
        directory.chmod(0o755)
        tasks.append(Container(Task(system, directory, params), NODES))
        return tasks[-1]

    yield start
    for each in tasks:
        each.end()


@pytest.fixture(name="install")
def install_fixture(system):
    """A function that puts the hook in effect with these options, and has the worker start again."""
    def install(*options):
        for words in (["ldcache-update"], ["nvidia-devices", "--driver-root", DRIVER, *options]):
            system.run("oci-gpu-hooks", "install", "--engine", "concourse", *words)
        system.start_worker(DIRECTORY)

    return install


def nodes(*gpus):
    """What NODES prints."""
    return " ".join(sorted(gpu.node for gpu in gpus)) + " \n"


def listed(system):
    done = system.run("/usr/local/libexec/oci/hooks.d/nvidia-devices", "--list=json")
    return json.loads(done.stdout)


def findings(system, severity):
    done = system.run("oci-gpu-hooks", "doctor", "--format", "json", check=False)
    return [each["text"] for section in json.loads(done.stdout)["sections"] for each in section["findings"]
            if each["severity"] == severity]


@lxd_alone
def test_the_example_as_it_stands(system, task):
    assert findings(system, "error") == []
    assert task().ready().out in {nodes(gpu) for gpu in PASSED}


def test_by_tag_each_task_has_a_gpu_that_was_passed_in(system, install, task):
    install(*BY_TAG)
    first, second = task().ready(), task().ready()
    assert {first.out, second.out} == {nodes(gpu) for gpu in PASSED}
    refused(task().end(), 4, "exclusive", SCOPE)
    first.end()
    assert task().ready().out == first.out


@lxd_alone
def test_an_idle_one_gives_its_gpu_to_who_waits(install, task):
    install(*BY_TAG, "--max-wait", "30s", "--idle-after", "1s", "--begin-within", "1s")
    first, second = task().ready(), task().ready()
    assert task().ready().out == first.out
    assert second.end().code == 0 and first.end().code != 0


def test_what_was_not_passed_in_is_not_there(install, task):
    """Also for `all`. Its name is an error."""
    install(*ASKED)
    assert task(f"{PARAM}=all").ready().out == nodes(*PASSED)
    refused(task(f"{PARAM}=0").end(), 3, f"'{FOUR[0].node}'", "without the host's root none can be made")


def test_two_compete(system, install, task):
    install(*ASKED)
    first = task(f"{PARAM}=2", f"{PARAM}_LEASE=exclusive").ready()
    refused(task(f"{PARAM}=2", f"{PARAM}_LEASE=exclusive").end(), 4, "exclusive", SCOPE)
    assert task(f"{PARAM}=any:1").ready().out == nodes(PASSED[1])  # which is free
    found = listed(system)
    assert found["scope"] == SCOPE
    assert [row["lease"] for row in found["gpus"]] == ["free", "free", "exclusive", "shared"]
    assert system.run("oci-gpu-hooks", "status").stdout.startswith("nvidia: 2 GPUs, 0 free, 1 shared, 1 exclusive")
    first.end()
    assert system.run("oci-gpu-hooks", "status").stdout.startswith("nvidia: 2 GPUs, 1 free, 1 shared, 0 exclusive")


def test_by_key(system, install, task):
    install(*BY_KEY)
    digest = hashlib.sha256(b"secret").hexdigest()
    system.run("sh", "-ec", f"umask 077; cat >{KEYS}", input=f"{digest} nightly --max-devices 1\n")
    asked = (f"{PARAM}=any:1", "OCI_GPU_HOOKS_KEY=secret")
    assert task(*asked).ready().out in {nodes(gpu) for gpu in PASSED}
    refused(task(f"{PARAM}=any:1", "OCI_GPU_HOOKS_KEY=other").end(), None, "key")
    refused(task(f"{PARAM}=2-3", "OCI_GPU_HOOKS_KEY=secret").end(), 5, "--max-devices")


def test_the_doctor_compares_what_is_allowed_with_what_was_passed_in(system, install):
    install(*BY_TAG, "--allow", FOUR[2].uuid)
    assert findings(system, "error") == [], system.run("oci-gpu-hooks", "doctor", check=False).stdout
    assert any(text.startswith("Linux ") for text in findings(system, "ok"))
    assert any("every container" in text for text in findings(system, "ok")), "the worker is read"
    install(*BY_TAG, "--allow", "0,2")
    [error] = findings(system, "error")
    assert "--allow names '0'" in error and f"'{FOUR[0].node}'" in error


def test_containers_outlive_a_restart_of_the_worker(system, install, task):
    install(*BY_TAG)
    first = task().ready()
    system.start_worker(DIRECTORY)
    assert {first.out, task().ready().out} == {nodes(gpu) for gpu in PASSED}


@lxd_alone
def test_leases_end_with_the_container_of_the_worker(system, install, task):
    install(*BY_TAG)
    tasks = [task().ready() for _ in PASSED]
    system.restart()
    assert [row["lease"] for row in listed(system)["gpus"][2:]] == ["free", "free"]
    assert task().ready().out in {nodes(gpu) for gpu in PASSED}
    for each in tasks:
        each.kill()


def test_the_hosts_own_directory_is_refused(system, install, task):
    """Who owns it has no number there."""
    install(*BY_TAG)
    hosts = system.shared / "hosts"
    hosts.mkdir()
    system.run("mkdir", "-p", LEASES)
    system.run("mount", "--bind", hosts, LEASES)
    refused(task().end(), 6, f"'{LEASES}' does not belong to root")
    system.run("umount", LEASES)
    assert task().ready().out in {nodes(gpu) for gpu in PASSED}
