# SPDX-License-Identifier: Apache-2.0
"""Containers from which another one takes, whatever they do: by the host's limit, or never started."""

import pytest

from harness import engines
from harness.host import LIMIT_S
from harness.leases import Container, ask
from harness.nvidia_container import KEY, refused
from harness.stopped import wait_until

pytest_plugins = ["harness.nvidia_fixtures"]

SIGKILLED = 128 + 9
WAIT = ("--max-wait", "1m")  # longer than a container has to end by itself


@pytest.fixture(name="asking")
def asking_fixture(nv_box):
    """A function that starts a container that wants GPU 0: asking(*options of the hook, wait=…, hold=…, engine=…)."""
    containers = []

    def start(*args, wait=None, hold=None, engine=engines.RUNTIMES[0], look="true", signal=None, verb="run", uid=0,
              shares_pids=False):
        box = ask(nv_box("0", *WAIT, *args, engine=engine), KEY, "exclusive", wait)
        if uid:
            box.config["process"]["user"] = {"uid": uid, "gid": uid}
        if shares_pids:
            namespaces = box.config["linux"]["namespaces"]
            namespaces[:] = [namespace for namespace in namespaces if namespace["type"] != "pid"]
        if hold:
            box.annotations[f"{KEY}.hold"] = hold
        if signal:
            box.annotations["org.opencontainers.image.stopSignal"] = signal
        box.timeout = 70
        box.runtime.verb = verb
        containers.append(Container(box, look) if verb == "run" else box)
        return containers[-1] if verb == "run" else box.start("echo started")

    yield start
    for container in reversed(containers):
        if isinstance(container, Container):
            container.end()
        else:
            container.runtime.clean(container.host)


@pytest.mark.parametrize("engine", engines.RUNTIMES)
def test_a_holder_past_its_limit_gets_its_stop_signal_from_who_waits(asking, leases, engine):
    first = asking("--max-hold", "0s", engine=engine, signal="SIGUSR1",
                   look="trap 'echo asked; exit 3' USR1").ready()
    (state,) = leases.rows("state")[0]
    assert state.startswith("may be ended since 20")
    refused(asking(engine=engine).end(), 4, first.run.name)
    assert first.run.process.poll() is None
    second = asking(engine=engine, wait="20s").ready()
    result = first.end()
    assert (result.code, result.out) == (3, "asked\n")
    assert leases.rows("container") == [(second.run.name,)]


def test_one_without_a_handler_is_killed_after_the_grace_by_whoever_waits_then(asking, leases):
    """The first that waits asks it, and is killed: the next one goes on."""
    first = asking("--max-hold", "0s").ready()
    second = asking(wait="20s")
    wait_until(leases.waiting, "it does not wait", second.run.process)
    second.kill()
    third = asking(wait="1m").ready()
    assert first.run.process.wait(LIMIT_S) == SIGKILLED
    assert leases.rows("container") == [(third.run.name,)]


def test_the_container_of_another_user_is_ended_too(asking):
    """It takes CAP_KILL where both are in the host's user namespace."""
    first = asking("--max-hold", "0s", uid=1000, look="trap 'exit 3' TERM").ready()
    asking(wait="20s").ready()
    assert first.run.process.wait(LIMIT_S) == 3


def test_a_container_may_hold_for_less_than_the_host_allows(asking):
    refused(asking("--max-hold", "1h", hold="2h").end(), 5, "asks to hold for 2h, and this host (--max-hold) allows 1h")
    refused(asking(hold="soon").end(), 2, "no duration")
    first = asking("--max-hold", "1h", hold="0s", look="trap 'exit 3' TERM").ready()
    asking(wait="20s").ready()
    assert first.run.process.wait(LIMIT_S) == 3


@pytest.mark.parametrize("engine, shares_pids", zip(engines.RUNTIMES, (False, True)),
                         ids=["own processes", "the host's processes"])
def test_one_that_is_paused_is_ended_too(asking, leases, engine, shares_pids):
    """With cgroup version 1 no signal ends a process that is frozen."""
    first = asking("--max-hold", "0s", engine=engine, shares_pids=shares_pids).ready()
    first.box.host.run(first.box.runtime.command("pause", first.run.name))
    second = asking(engine=engine, wait="1m").ready()
    assert first.run.process.wait(LIMIT_S) == SIGKILLED
    assert leases.rows("container") == [(second.run.name,)]


@pytest.mark.parametrize("engine", engines.RUNTIMES)
def test_a_container_that_nobody_starts_loses_its_gpu(asking, leases, engine):
    """runc's init is a child of the program that was executed, and crun's one of crun."""
    created = asking(verb="create", engine=engine)
    assert created.process.wait(LIMIT_S) == 0
    assert leases.rows("state") == [("never started",)]
    refused(asking(engine=engine).end(), 4, f"{created.name}' since ", "(never started)")
    refused(asking("--begin-within", "0s", "--idle-after", "never", engine=engine).end(), 4, created.name)
    second = asking("--begin-within", "0s", engine=engine).ready()
    assert leases.rows("container", "lease", "state") == [
        (second.run.name, "exclusive", "running"), (created.name, "none", "taken away, not begun")]
    refused(asking("--begin-within", "0s", engine=engine).end(), 4, second.run.name)


def test_a_podman_that_is_lost_while_it_waits_keeps_no_gpu(asking, leases):
    """conmon goes on, and its runtime, so that the hook takes the GPU for a container that podman has forgotten."""
    first = asking().ready()
    lost = asking(wait="20s", engine=engines.PODMANS[0])
    wait_until(leases.waiting, "it does not wait", lost.run.process)
    (name,) = leases.waiting()
    lost.kill()
    first.end()
    wait_until(lambda: leases.rows("container", "state") == [(name, "never started")], "it does not get the GPU")
    try:
        third = asking("--begin-within", "0s").ready()
        assert leases.rows("container", "lease")[0] == (third.run.name, "exclusive")
    finally:
        lost.box.host.run(["runc", "delete", "--force", name], check=False)
