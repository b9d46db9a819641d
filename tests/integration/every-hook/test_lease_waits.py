# SPDX-License-Identifier: Apache-2.0
"""A container that waits for a GPU, by real engines: in order, not longer than it may, and not longer than it lives."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness import engines
from harness.expect import started
from harness.leases import Container, ask
from harness.nvidia_container import KEY, refused
from harness.pages import guide
from harness.processes import descendant
from harness.stopped import status, wait_until

pytest_plugins = ["harness.nvidia_fixtures"]

RUNC, CRUN = engines.RUNTIMES
ENGINES = [RUNC, *engines.PODMANS]
WAIT = ("--max-wait", "20m")


@pytest.fixture(name="asking")
def asking_fixture(nv_box):
    """A function that starts a container, which may have to wait: asking(request, lease, wait, engine=…)."""
    containers = []

    def start(request, lease="exclusive", wait="20s", engine=RUNC, timeout=None, wrapper=()):
        box = ask(nv_box(request, *WAIT, engine=engine), KEY, lease, wait)
        box.timeout, box.wrapper = timeout, wrapper
        containers.append(Container(box))
        return containers[-1]

    yield start
    for container in reversed(containers):
        container.end()


def spent(pid):
    """The CPU time of a process so far, in ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.fixture(name="waiting")
def waiting_fixture(asking, leases):
    """The same, until it waits behind those that wait already; gives the container and its id, whole."""
    def start(*args, **more):
        before = leases.waiting()
        container = asking(*args, **more)
        wait_until(lambda: len(leases.waiting()) > len(before), "it does not wait", container.run.process)
        return container, leases.waiting()[-1]

    return start


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_the_second_starts_when_the_first_ends(asking, waiting, leases, engine):
    first = asking("0", engine=engine).ready()
    second, name = waiting("0-1", engine=engine)
    assert leases.rows("gpus", "lease", "state") == [("0", "exclusive", "running"), ("0,1", "exclusive", "waiting")]
    first.end()
    second.ready()
    assert leases.rows("container", "gpus", "state") == [(name, "0,1", "running")]


def test_waiters_come_in_order_and_who_does_not_wait_overtakes_nobody(asking, waiting, leases, nv_box):
    """Not even a small request a large one; what nobody waits for is free for all."""
    first = asking("0").ready()
    second, _ = waiting("0-1")
    third, name = waiting("1")
    refused(ask(nv_box("1"), KEY, "shared").run(), 4, "GPU 1 ", "waited for by container", name)
    assert started(ask(nv_box("any:1"), KEY, "exclusive").run()) == "started\n"
    first.end()
    second.ready()
    assert leases.waiting() == [name]
    second.end()
    third.ready()
    assert leases.waiting() == []


def test_who_may_share_waits_together_for_who_may_not(asking, waiting, leases):
    first = asking("0").ready()
    others = [waiting("0", "shared")[0], waiting("any:8", "shared")[0]]
    first.end()
    for other in others:
        other.ready()
    assert leases.read()["gpus"][0]["lease"] == "shared by 2"


def test_the_wait_for_any_ends_with_the_first_that_is_free(asking, waiting, leases):
    first, second = asking("0-3").ready(), asking("4-7").ready()
    third, name = waiting("any:2")
    assert (name, "any:2 of 0,1,2,3,4,5,6,7") in leases.rows("container", "gpus")
    second.end()
    third.ready()
    assert set(leases.rows("gpus")[-1][0].split(",")) < set("4567")
    first.end()


def test_the_host_is_looked_at_again_after_a_wait(asking, waiting, machine):
    """It may be another one by then."""
    first = asking("0").ready()
    second, _ = waiting("0-1")
    machine.remove(f"proc/driver/nvidia/gpus/{machine.gpus[1].address}")
    first.end()
    refused(second.end(), 3, "GPU", "not there any more")


def test_many_that_wait_take_no_time(asking, waiting, leases, nv_hook):
    """WAITERS of them for WAIT_SECONDS: by default a few, for a moment. The longest wait is longer than a hook may take
    that does not wait."""
    count, seconds = int(os.environ.get("WAITERS", "8")), float(os.environ.get("WAIT_SECONDS", "0.5"))
    first = asking("0").ready()
    others = [waiting("0", "shared", "20m", timeout=0)[0] for _ in range(count)]
    hooks = [descendant(other.run.process.pid, nv_hook.executable) for other in others]
    before = [spent(hook) for hook in hooks]
    time.sleep(seconds)
    after = [spent(hook) for hook in hooks]
    print(f"{count} hooks waited {seconds} s and took {(sum(after) - sum(before)) * 10} ms of CPU time")
    assert after == before
    first.end()
    for other in others:
        other.ready()
    assert leases.read()["gpus"][0]["lease"] == f"shared by {count}"


@pytest.fixture(name="counted")
def counted_fixture(tmp_path):
    """A cgroup that counts the CPU time of those in it, of either version: gives its directory."""
    top = Path("/sys/fs/cgroup/cpuacct")
    directory = (top if top.is_dir() else top.parent) / f"oci-gpu-hooks-{tmp_path.name}-{os.getpid()}"
    directory.mkdir()
    yield directory
    directory.rmdir()


def used_in(directory):
    """Of such a cgroup, in ms."""
    if (usage := directory / "cpuacct.usage").exists():
        return int(usage.read_text(encoding="utf-8")) / 1e6
    return int((directory / "cpu.stat").read_text(encoding="utf-8").split()[1]) / 1e3


def test_a_hand_over_takes_no_more_time_with_many_that_wait(asking, waiting, leases, machine, counted):
    """HERD of them: by default a few. Of all hooks together, without the runtimes; all are served in their order."""
    # Each that waits is some processes more, whose open files need no look where the driver has none open.
    machine.write("sys/module/nvidia/refcnt", "1\n")
    machine.link("sys/module/nvidia/holders/nvidia_uvm", "../../nvidia_uvm")
    wrapper = ("/bin/sh", "-c", f'echo $$ >{counted}/cgroup.procs; exec "$@"', "sh")

    def cost_with(count):
        holder = asking("0").ready()
        others = [waiting("0", wait="20m", timeout=0, wrapper=wrapper) for _ in range(count)]
        start, gaps, costs = used_in(counted), [], []
        for number, (other, _) in enumerate(others, 1):
            began = time.monotonic()
            holder.end()
            holder = other.ready()
            gaps.append(time.monotonic() - began)
            assert leases.waiting() == [name for _, name in others[number:]]
            costs.append((used_in(counted) - start) / number)
        holder.end()
        cost = costs[min(count, 10) - 1]
        print(f"{count} hooks waited: {cost:.2f} ms of CPU a hand-over, greatest gap {max(gaps):.3f} s")
        assert max(gaps) < 5
        return cost

    few, many = cost_with(4), cost_with(int(os.environ.get("HERD", "12")))
    assert many < 2 * few


def canceller(machine, build_root):
    """A function that runs `oci-gpu-hooks cancel WORD`."""
    def cancel(word):
        return subprocess.run([build_root / "admin/oci-gpu-hooks", "cancel", word, "--sysroot", os.fspath(machine)],
                              check=False, capture_output=True, encoding="utf-8", timeout=60)

    return cancel


def test_all_waits_are_cancelled_for_a_worker_that_is_stopped(asking, waiting, leases, machine, build_root):
    cancel = canceller(machine, build_root)
    first = asking("0").ready()
    assert cancel("--all").stdout == "no container waits\n"
    others = [waiting("0")[0], waiting("0")[0]]
    process = cancel("--all")
    assert process.returncode == 0 and process.stdout.startswith("told the hooks of containers '"), process.stderr
    for other in others:
        refused(other.end(), 1, "ended by SIGTERM while waiting for a GPU")
    assert leases.rows("container") == [(first.run.name,)]


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_a_wait_is_cancelled(asking, waiting, leases, machine, build_root, engine):
    """By the beginning of its id, whatever the engine makes of signals meanwhile; the others wait on."""
    first = asking("0").ready()
    second, name = waiting("0", engine=engine)
    third, other = waiting("0")

    cancel = canceller(machine, build_root)
    assert cancel("no-such").returncode == 3
    process = cancel(name[:-1])
    assert (process.returncode, process.stdout) == (0, f"told the hook of container '{name}' to end\n"), process.stderr
    refused(second.end(), 1, "ended by SIGTERM while waiting for a GPU")
    assert leases.waiting() == [other]
    first.end()
    third.ready()


@pytest.mark.parametrize("engine", ENGINES[:2], ids=str)
def test_at_the_end_of_its_time_it_says_who_has_it(asking, leases, engine):
    first = asking("0").ready()
    start = time.monotonic()
    message = refused(asking("0", "shared", "1s", engine=engine).end(), 4, f"'{first.run.name}' since")
    assert 1 <= time.monotonic() - start < 5, message
    assert leases.waiting() == []


def ended(pid):
    """Or has a new parent that has not heard of it yet."""
    try:
        return status(pid)["State"].startswith("Z")
    except OSError:
        return True


@pytest.mark.parametrize("engine", [RUNC, CRUN], ids=str)
def test_a_waiter_ends_with_its_runtime(asking, waiting, leases, nv_hook, engine):
    """After SIGKILL of `runc run` nothing else ends the hook."""
    first = asking("0").ready()
    second, _ = waiting("0", engine=engine)
    hook = descendant(second.run.process.pid, nv_hook.executable)
    second.kill()
    wait_until(lambda: ended(hook), "the hook goes on")
    assert leases.waiting() == []
    first.end()
    assert leases.are_free()


def left_of(container, name):
    """What runc has made of it, and has not removed."""
    found = container.box.host.run(["find", "/sys/fs/cgroup", "-type", "d", "-name", name], check=False)
    assert complaints(found.stderr) == []
    return container.box.runtime.left_over() + found.stdout.splitlines()


def complaints(messages):
    """Of find, but for those of cgroups of other containers, which come and go meanwhile."""
    return [line for line in messages.splitlines() if not line.endswith(": No such file or directory")]


def test_what_a_killed_worker_leaves_goes_by_the_lines_of_the_page(asking, waiting, leases, nv_hook):
    """systemd kills all of a unit. A container that runs loses nothing by these lines."""
    lines = re.search("these lines remove both:\n\n((?: {6}.*\n)+)", guide("concourse.md"))[1]
    first = asking("0").ready()
    others = [waiting("0"), waiting("0", "shared")]
    for container, name in others:
        hook = descendant(container.run.process.pid, nv_hook.executable)
        [init] = [pid for pid, waiter in leases.rows("pid", "container") if waiter == name]
        os.kill(hook, signal.SIGSTOP)  # or it might end by itself before it is killed
        container.kill()
        os.kill(hook, signal.SIGKILL)
        wait_until(lambda hook=hook, init=init: ended(hook) and ended(init), "a process is left")
    assert leases.rows("container", "state") == [(first.run.name, "running")]
    for container, name in [*others, (first, first.run.name)]:
        before = left_of(container, name)
        assert len(before) > 1, before
        directory = container.box.runtime.command()[2]
        done = container.box.host.run(["bash", "-c", lines.replace("/run/containerd/runc/concourse", str(directory))],
                                      check=False)
        assert (done.stdout, complaints(done.stderr)) == ("", [])
        assert left_of(container, name) == (before if container is first else [])
    assert first.end().code == 0 and leases.are_free()


def test_hooks_wait_on_when_their_worker_is_killed_until_they_are_cancelled(asking, waiting, leases, machine, build_root,
                                                                            monkeypatch):
    """By its engine alone: runc, whose parent it is, goes on."""
    first = asking("0").ready()
    host, command = first.box.host, first.box.host.command
    with monkeypatch.context() as patch:
        patch.setattr(host, "command", lambda argv: ["sh", "-c", '"$@" & wait', "worker", *command(argv)])
        second, name = waiting("0")
    second.kill()
    assert leases.waiting() == [name] and left_of(second, name)
    assert name in canceller(machine, build_root)("--all").stdout
    wait_until(lambda: not left_of(second, name), "runc does not remove its container")
    assert leases.rows("container") == [(first.run.name,)]


def test_a_waiter_ends_with_the_containers_init(asking, waiting, leases):
    """By runc alone: crun takes the end of init for that of a hook, and then waits until the hook's timeout."""
    asking("0").ready()
    second, name = waiting("0")
    [init] = [pid for pid, container in leases.rows("pid", "container") if container == name]
    os.kill(init, signal.SIGKILL)
    refused(second.end(), 1, "the container ended while this hook waited for a GPU")
    assert leases.waiting() == []


@pytest.mark.parametrize("engine", [RUNC, CRUN], ids=str)
def test_a_waiter_that_is_told_to_end_says_so(asking, waiting, leases, nv_hook, engine):
    asking("0").ready()
    second, _ = waiting("0", engine=engine)
    os.kill(descendant(second.run.process.pid, nv_hook.executable), signal.SIGTERM)
    refused(second.end(), 1, "ended by SIGTERM while waiting for a GPU")
    assert leases.waiting() == []


def conmon_of(directory):
    """conmon leaves its parent; its command line has a directory of podman's."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # gone meanwhile
        if words[0].endswith(b"conmon") and os.fsencode(directory) in b" ".join(words):
            return int(process.name)
    raise AssertionError("no conmon")


def test_a_waiter_ends_with_conmon(asking, waiting, leases, nv_hook, scratch):
    asking("0").ready()
    second, _ = waiting("0", engine=engines.PODMANS[1])
    conmon = conmon_of(scratch)
    hook = descendant(conmon, nv_hook.executable)
    os.kill(conmon, signal.SIGKILL)
    wait_until(lambda: ended(hook), "the hook goes on")
    assert leases.waiting() == [] and second.end().code != 0


def test_a_waiter_whose_podman_was_killed_has_the_gpu_until_it_is_removed(asking, waiting, leases):
    """conmon and the runtime make the container nevertheless, and nobody ever starts it. podman does not know that it
    runs; the runtime does."""
    first = asking("0").ready()
    second, name = waiting("0", engine=engines.PODMANS[1])
    host, podman = second.box.host, second.box.runtime
    [init] = [pid for pid, container in leases.rows("pid", "container") if container == name]
    try:
        second.kill()
        first.end()
        wait_until(lambda: '"created"' in host.run(["crun", "state", name], check=False).stdout, "it is not made")
        host.run(podman.command("rm", "--force", "--time", "0", name))
        assert leases.rows("container", "pid") == [(name, init)]
        host.run(["crun", "delete", "--force", name])
        wait_until(lambda: ended(init), "it goes on")
    finally:
        if not ended(init):
            os.kill(init, signal.SIGKILL)
    assert leases.are_free()


@pytest.mark.parametrize("timeout", [24, 25, 0])
def test_a_timeout_of_the_runtime_that_is_too_short_is_said_at_once(asking, nv_box, leases, timeout):
    """It would end the hook in the middle of its wait; 0 is none."""
    first = asking("0").ready()
    box = ask(nv_box("0", *WAIT), KEY, "shared", "20s")
    box.timeout = timeout
    if timeout == 24:
        refused(box.run(), 2, "20s", "'timeout' has to be at least 25 s")
        return
    second = Container(box)
    wait_until(leases.waiting, "it does not wait", second.run.process)
    first.end()
    second.ready().end()


def test_where_the_host_asks_one_waits_as_long_as_it_allows(asking, nv_box, leases):
    first = asking("0").ready()
    box = nv_box(None, "--request", "0", "--max-wait", "20s", "--min-lease", "exclusive")
    box.loader = "concourse"
    second = Container(box)
    wait_until(leases.waiting, "it does not wait", second.run.process)
    first.end()
    second.ready().end()


def test_the_host_says_how_long_one_may_wait(nv_box):
    """Also if there is nothing to wait for."""
    refused(ask(nv_box("0", "--max-wait", "9s"), KEY, wait="10s").run(), 5, "10s", "--max-wait", "9s")
    refused(ask(nv_box("0"), KEY, wait="1s").run(), 5, "--max-wait", "0s")
