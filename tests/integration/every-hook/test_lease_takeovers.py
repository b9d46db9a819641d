# SPDX-License-Identifier: Apache-2.0
"""Steps of a Concourse build that want one GPU after the other: Concourse keeps the container of a step that has ended
until its build has, and that of a failed build for days."""

import subprocess
import time

import pytest

from harness import concourse
from harness.host import LIMIT_S
from harness.leases import Container, ask
from harness.nvidia_container import KEY, refused
from harness.stopped import wait_until

pytest_plugins = ["harness.nvidia_fixtures"]

BEGUN = ("--idle-after", "0s", "--max-wait", "20s")
NOW = (*BEGUN, "--begin-within", "0s")
SIGKILLED = 128 + 9


@pytest.fixture(name="garden")
def garden_fixture(nv_host, scratch):
    """Takes the cgroup away that stays when unprivileged containers have ended."""
    yield nv_host("as-found")
    concourse.remove_garden(nv_host(), scratch)


class Step(Container):
    """The container of a step, whose init is gdn-init and does nothing once it is ready."""

    def exec(self, *words):
        """Starts a program in it, as a step's own, and `fly intercept`."""
        box = self.box
        return subprocess.Popen(box.host.command(box.runtime.command("exec", self.run.name, *words)),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")

    def is_taken_over(self):
        """Whether its init is ended in time."""
        return self.run.process.wait(LIMIT_S) == SIGKILLED


@pytest.fixture(name="step")
def step_fixture(nv_box, garden):  # pylint: disable=unused-argument
    """A function that starts the container of a task: step(lease, wait, *options of the hook, init=…)."""
    steps = []

    def start(lease="exclusive", wait=None, *args, mapped=False, init=concourse.INIT, keep=False, uid=0):
        box = concourse.make(ask(nv_box("0", *(args or NOW), cgroup="as-found"), KEY, lease, wait), "task")
        if init != concourse.INIT:
            box.bundle.mount(init, box.bundle.init, "bind")
            box.config["process"]["args"] = [init]
        if mapped:
            concourse.unprivileged(box)
        box.config["process"]["user"] = {"uid": uid, "gid": uid}
        if keep:
            box.runtime.options.append("--keep")
        steps.append(Step(box))
        return steps[-1]

    yield start
    for each in steps:
        each.end()


@pytest.mark.parametrize("mapped", [False, True], ids=["privileged", "unprivileged"])
def test_the_second_step_of_a_build_takes_the_gpu_of_the_first(step, leases, mapped):
    """The first step's program has ended, its container is there; the second one's then, and its build fails: the next
    build takes it from that one."""
    first = step(mapped=mapped).ready()
    program = first.exec("sh", "-c", "echo runs; read line")
    assert program.stdout.readline() == "runs\n"
    refused(step(mapped=mapped).end(), 4, first.run.name)
    assert leases.rows("state") == [("running",)]
    program.communicate(timeout=LIMIT_S)
    assert leases.run("--list", *NOW).stdout.split()[-1] == "idle"
    second = step(mapped=mapped).ready()
    assert first.is_taken_over()
    assert leases.rows("container", "lease") == [(second.run.name, "exclusive")]
    third = step("shared", mapped=mapped).ready()
    assert second.is_taken_over() and leases.rows("container") == [(third.run.name,)]


def test_the_step_of_another_user_is_ended_too(step):
    """It takes CAP_KILL where both are in the host's user namespace."""
    first = step(uid=1000).ready()
    step(uid=1000).ready()
    assert first.is_taken_over()


def test_a_step_that_waits_takes_over_once_the_other_is_idle(step, leases):
    first = step().ready()
    program = first.exec("sh", "-c", "echo runs; read line")
    assert program.stdout.readline() == "runs\n"
    second = step("exclusive", "20s")
    wait_until(leases.waiting, "it does not wait", second.run.process)
    program.communicate(timeout=LIMIT_S)
    second.ready()
    assert first.is_taken_over()


def test_one_in_which_nothing_has_begun_is_left_alone_until_something_has(step, leases):
    """Its step is still on the way: the program is started over the network."""
    first = step().ready()
    refused(step("exclusive", None, *BEGUN).end(), 4, first.run.name)
    second = step("exclusive", "20s", *BEGUN)
    wait_until(leases.waiting, "it does not wait", second.run.process)
    assert first.exec("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done").wait(LIMIT_S) == 0
    second.ready()
    assert first.is_taken_over()


def test_one_that_is_young_is_waited_for(step):
    """It may have been made for a program that is not started yet."""
    first = step().ready()
    refused(step("exclusive", None, "--idle-after", "1m").end(), 4, first.run.name)
    start = time.monotonic()
    step("exclusive", "10s", "--idle-after", "1s", "--begin-within", "0s", "--max-wait", "20s").ready()
    assert first.is_taken_over() and time.monotonic() - start < 5


@pytest.mark.parametrize("option", ["--no-takeover", "--idle-init=/sbin/other-init"])
def test_what_the_host_does_not_call_idle_is_left_alone(step, leases, option):
    first = step().ready()
    refused(step("exclusive", None, *NOW, option).end(), 4, first.run.name)
    assert leases.rows("container") == [(first.run.name,)]
    assert first.end().code == 0


def test_a_single_program_is_never_idle(step, leases):
    """As under podman: its init is the work itself. --idle-init names others that only wait."""
    first = step(init="/work").ready()
    refused(step().end(), 4, first.run.name)
    second = step("exclusive", None, *NOW, "--idle-init", "/work").ready()
    assert first.is_taken_over() and leases.rows("container") == [(second.run.name,)]


def test_shared_leases_take_nothing_over(step, leases):
    """Nothing is in the way."""
    steps = [step("shared").ready(), step("shared").ready()]
    assert leases.rows("container") == [(each.run.name,) for each in steps]


def test_an_intercept_afterwards_fails_as_the_runtime_says(step):
    """The container is there until the build ends, and its init has ended."""
    first = step(keep=True).ready()
    assert first.exec("true").wait(LIMIT_S) == 0
    step().ready()
    assert first.is_taken_over()
    intercept = first.exec("sh")
    assert intercept.communicate(timeout=LIMIT_S)[1].strip() == "exec failed: cannot exec in a stopped container"
    assert intercept.returncode == 255
