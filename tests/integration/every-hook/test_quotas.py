# SPDX-License-Identifier: Apache-2.0
"""What many containers have together: at most so many devices for all that ask with a key, by a policy or from one
namespace, and at most so many of them on one device."""

import hashlib
import os
import secrets

import pytest

from harness import amd_container, concourse
from harness.bundle import Bundle
from harness.expect import started
from harness.leases import Container, ask
from harness.nvidia_container import KEY, refused
from harness.rootless import RootlessBox, RootlessPodman, add_user
from harness.stopped import wait_until
from harness.storm import Member, rage
from hosts.amd import AmdHost

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

CI = secrets.token_hex(16)
COUNT = int(os.environ.get("QUOTA_TASKS", "8"))
WAIT = ("--max-wait", "10m")
CRIO = "io.kubernetes.pod.namespace"


@pytest.fixture(name="keys")
def keys_fixture(scratch):
    """A function that writes the host's key file: one key, with these words behind its name."""
    def write(words):
        file = scratch / "keys"
        file.write_text(f"{hashlib.sha256(CI.encode()).hexdigest()} ci {words}\n", encoding="ascii")
        file.chmod(0o600)
        return "--opt-in", "environment", "--key-file", file

    return write


@pytest.fixture(name="running")
def running_fixture():
    """A function that lets a container run until the end of the test."""
    containers = []

    def run(box):
        containers.append(Container(box))
        return containers[-1].ready()

    yield run
    for container in containers:
        container.end()


def task(box, *params, request="any:1"):
    params = (f"OCI_GPU_HOOKS_KEY={CI}", f"OCI_GPU_HOOKS_NVIDIA_DEVICES={request}", *params)
    return concourse.make(box, "task", params=params)


def test_eight_tasks_with_a_quota_of_one_have_one_gpu_after_the_other(nv_box, keys, leases):
    """On a host that has a GPU for each; what another one without the key asks for is not in their queue."""
    options = keys("--quota 1")
    most, seen = [0], set()

    def start():
        box = task(nv_box(None, *options, *WAIT), "OCI_GPU_HOOKS_NVIDIA_DEVICES_WAIT=5m")
        box.timeout = 0
        return Member(box, "sleep .1; echo done", 1, "shared", "ends", 0)

    def look(members):
        first = [member.nodes() for member in members]
        both = [member for member, nodes in zip(members, first) if nodes & member.nodes() and member.lives()]
        most[0] = max(most[0], len(both))
        seen.update(name for nodes in first for name in nodes)
        if leases.waiting() and not free:
            free.append(started(nv_box("all", *WAIT).run()))

    free = []
    members = rage([start] * COUNT, look)
    assert [started(member.result) for member in members] == ["done\n"] * COUNT
    assert most == [1] and free and len(seen) > 1
    assert leases.are_free()


def test_a_refusal_names_the_quota_and_its_holders_and_nothing_of_the_key(nv_box, keys, running, leases):
    options = keys("--quota 1")
    holder = running(task(nv_box(None, *options)))
    message = refused(task(nv_box(None, *options)).run(), 4, "the quota 'key:ci' allows 1 at once: 1 held by container",
                      holder.run.name)
    assert CI not in message and hashlib.sha256(CI.encode()).hexdigest()[:8] not in message
    refused(task(nv_box(None, *options), request="any:2").run(), 4, "'key:ci'", "2 are asked for")
    assert leases.rows("quotas") == [("key:ci",)]
    holder.end()
    assert started(task(nv_box(None, *options)).run()) == "started\n"


def test_an_idle_container_is_taken_from_for_one_that_wants_its_quota(nv_box, keys, running, leases):
    """On another GPU: what it has is not what the other one gets."""
    options = (*keys("--quota 1"), "--idle-after", "0s", "--begin-within", "0s")
    first = running(task(nv_box(None, *options), request="0"))
    second = running(task(nv_box(None, *options), request="1"))
    assert leases.rows("container", "gpus", "state")[1] == (first.run.name, "0", "taken away, not begun")
    assert leases.rows("container", "gpus")[0] == (second.run.name, "1")
    assert first.end().code == 0


def test_a_policy_counts_across_hooks(nv_box, nv_host, amd_hook, machine, scratch, running, leases):
    """By the name of the quota, on the GPUs of both vendors."""
    beside = AmdHost(scratch / "beside")
    for host in (machine, beside):
        (host.path / "run").mkdir(exist_ok=True)
    nv_host().mount("--bind", machine.path / "run", beside.path / "run")

    def amd(quota):
        box = nv_box()
        box.annotations[amd_container.KEY] = "0"
        box.last = [amd_hook.entry(["--sysroot", beside, "--quota", quota])]
        return box

    holder = running(nv_box("0", "--quota", "ci=2", "--quota", "other=1"))
    assert leases.rows("quotas") == [("policy:ci,policy:other",)]
    amd_container.refused(amd("ci=1").run(), 4, "'policy:ci' allows 1 at once", holder.run.name)
    assert started(amd("ci=2").run()) == "started\n"
    holder.end()
    assert started(amd("ci=1").run()) == "started\n"


def test_a_namespace_has_its_own_quota_and_who_has_none_gets_nothing(nv_box, running):
    def pod(request, **annotations):
        box = nv_box(request, "--allow", "0-7", "--quota", f"{CRIO}=1")
        box.annotations.update({key.replace("_", "."): value for key, value in annotations.items()})
        return box

    holder = running(pod("0", **{CRIO: "ml"}))
    refused(pod("1", **{CRIO: "ml"}).run(), 4, f"'{CRIO}=ml' allows 1", holder.run.name)
    assert started(pod("1", **{CRIO: "web"}).run()) == "started\n"
    refused(pod("1").run(), 5, CRIO, "has none")
    mine = {CRIO: "mine", "io.kubernetes.cri.sandbox-namespace": "ml"}
    refused(pod("1", **mine).run(), 5, CRIO, "one of them is the user's")


def test_a_device_has_no_more_containers_than_may_share_it(nv_box, running, leases):
    def box(*options, lease=None, wait=None):
        return ask(nv_box("0", *WAIT, *options), KEY, lease, wait)

    first, second = running(box("--max-sharers", "2")), running(box())
    refused(box().run(), 4, "GPU 0 ", "held shared (by 2 at most)", first.run.name, second.run.name)
    waits = Container(box("--max-sharers", "2", wait="20s"))
    wait_until(lambda: leases.waiting(), "it does not wait", waits.run.process)
    second.end()
    waits.ready()
    refused(box("--max-sharers", "3").run(), 4, "a shared lease (by 3 at most) needs ")
    waits.end()


def test_a_user_without_leases_can_count_nothing(nv_host, nv_hook, machine, scratch):
    """So nothing is given."""
    host = nv_host("v2")
    os.chmod(host.path("/dev/log"), 0o666)
    add_user(host, scratch)
    podman = RootlessPodman(scratch / "podman")
    try:
        for number, options in enumerate((("--quota", "ci=9"), ("--max-sharers", "9"))):
            box = RootlessBox(host, podman, Bundle(scratch / f"box{number}"), nv_hook,
                              ["--sysroot", machine, "--log-level", "info", *options])
            box.annotations[KEY] = "any:1"
            refused(box.run(), 3, "counts leases", "loginctl enable-linger")
    finally:
        podman.clean(host)
