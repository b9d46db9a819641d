# SPDX-License-Identifier: Apache-2.0
"""What --list says of who has a GPU, for whoever looks at it in the night."""

import json
import subprocess

import pytest

from harness import engines
from harness.expect import started
from harness.leases import DIRECTORY, Container, ask, read_state, state_text
from harness.nvidia_container import KEY, refused
from harness.stopped import wait_until
from hosts.nvidia import EIGHT

pytest_plugins = ["harness.nvidia_fixtures"]

RUNC, _ = engines.RUNTIMES
POD = {"io.kubernetes.cri.container-name": "train", "io.kubernetes.cri.sandbox-name": "job-1",
       "io.kubernetes.cri.sandbox-namespace": "ml", "io.kubernetes.cri.image-name": "example.org/train:3"}
AS_NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


@pytest.fixture(name="holder")
def holder_fixture(nv_box):
    """A container of a pod that has GPU 0 exclusively."""
    box = ask(nv_box("0", "--only", "io.kubernetes.cri.sandbox-namespace=ml"), KEY, "exclusive")
    box.annotations.update(POD)
    container = Container(box).ready()
    yield container
    container.end()


def waiting(box):
    """It may wait for long."""
    box.timeout = 700
    return ask(box, KEY, wait="10m").start("true")


def freeze(pid, frozen):
    """As an engine pauses the container of that process."""
    with open(f"/proc/{pid}/cgroup", encoding="ascii") as file:
        paths = {line.split(":")[1]: line.strip().split(":", 2)[2] for line in file}
    if "freezer" in paths:
        name, text = f"/sys/fs/cgroup/freezer{paths['freezer']}/freezer.state", ("THAWED", "FROZEN")[frozen]
    else:
        name, text = f"/sys/fs/cgroup{paths['']}/cgroup.freeze", str(int(frozen))
    with open(name, "w", encoding="ascii") as file:
        file.write(text)


def test_root_sees_whose_it_is_and_others_do_not(holder, leases):
    assert leases.rows("name", "image", "user", "asker") == [("job-1/train", "example.org/train:3", "ml", "annotation")]
    other = json.loads(leases.run("--list=json", before=AS_NOBODY).stdout)["leases"]
    assert [(row["container"], row["name"], row["image"], row["user"], row["asker"]) for row in other] == [
        (leases.rows("container")[0][0], None, None, None, None)], holder


@pytest.mark.parametrize("is_full", [False, True], ids=["read-only", "full"])
def test_what_cannot_be_written_down_is_shown(machine, nv_box, leases, is_full):
    """A container that has ended is off the list, and the others are on it."""
    run = machine.path / "run"
    run.mkdir(exist_ok=True)

    def mount(*words):
        subprocess.run(["mount", *words, run], check=True)

    mount("-t", "tmpfs", "-o", "mode=755,size=64k", "none")
    try:
        first, second = [Container(ask(nv_box(gpu), KEY, "exclusive")).ready() for gpu in "01"]
        if is_full:
            with pytest.raises(OSError):
                (run / "filled").write_bytes(bytes(1 << 20))
        else:
            mount("-o", "remount,ro")
        first.end()
        shown = leases.run("--list=json")
        assert shown.returncode == 0 and not shown.stderr, shown
        assert [row["container"] for row in json.loads(shown.stdout)["leases"]] == [second.run.name]
        refused(Container(nv_box("2")).end(), 6, "No space left" if is_full else "Read-only file system")
        second.end()
    finally:
        if not is_full:
            mount("-o", "remount,rw")
        subprocess.run(["umount", run], check=True)


def test_a_container_that_is_paused(holder, leases):
    [(pid,)] = leases.rows("pid")
    freeze(pid, True)
    try:
        wait_until(lambda: leases.rows("state") == [("paused",)], "it is not paused", holder.run.process)
    finally:
        freeze(pid, False)
    wait_until(lambda: leases.rows("state") == [("running",)], "it does not go on", holder.run.process)


def test_those_that_wait_have_a_place_and_a_deadline(nv_box, holder, leases, machine):
    runs = []
    for count in (1, 2):
        runs.append(waiting(nv_box("0", "--max-wait", "10m")))
        wait_until(lambda count=count: len(leases.waiting()) == count, "it does not wait", runs[-1].process)
    rows = leases.rows("place", "state", "deadline", "since")
    assert [row[:2] for row in rows] == [(None, "running"), (1, "waiting"), (2, "waiting")]
    assert all(row[2] > row[3] for row in rows[1:]) and rows[0][2] is None
    state = read_state(machine.path)
    for ticket in state["tickets"]:
        ticket["until"] = 0xfffffff0
    (machine.path / DIRECTORY / "state").write_text(state_text(**state), "ascii")
    written = [("2106-02-07T06:28:00Z",)] * 2
    assert leases.rows("deadline")[1:] == written, "it is computed when the wait begins, and not again"
    holder.end()
    for run in runs:
        started(run.finish())


def test_a_drain_has_a_reason_and_an_end(nv_box, leases):
    assert leases.run("--drain", "0=Xid 79", "--for", "2h").returncode == 0
    [drain] = leases.read()["drains"]
    assert (drain["gpu"], drain["reason"]) == ("0", "Xid 79") and drain["until"] > drain["since"]
    refused(nv_box("0").run(), 4, "drained by root", "'Xid 79'")
    assert leases.run("--drain", "0", "--for", "1s").returncode == 0
    wait_until(lambda: not leases.read()["drains"], "the drain does not end")
    started(nv_box("0").run())


def test_who_waits_gets_a_gpu_when_its_drain_ends(nv_box, holder, leases):
    assert leases.run("--drain", "1", "--for", "5s").returncode == 0
    run = waiting(nv_box("any:1", "--allow", "0-1", "--max-wait", "10m"))
    wait_until(lambda: len(leases.waiting()) == 1 or leases.are_free(), "it does not wait", run.process)
    started(run.finish())
    assert holder.result is None


@pytest.mark.parametrize("words, message", [
    (["--for", "1h"], "needs --drain"), (["--undrain", "0=x"], "'0=x'"), (["--drain", "0", "--for", "0s"], "longer"),
    (["--drain", "0", "--for", "soon"], "no duration"), (["--drain", "0=" + "x" * 201], "more than 200 bytes")])
def test_drains_that_cannot_be(leases, words, message):
    done = leases.run(*words)
    assert done.returncode == 2 and message in done.stderr


def test_the_screen_has_80_columns_with_8_gpus(nv_box, holder, leases):
    assert leases.run("--drain", "7=" + "it fell off the bus\x1b[2J" * 8, "--for", "2h").returncode == 0
    others = [Container(nv_box(str(n))).ready() for n in range(1, 7)]
    run = waiting(nv_box("0", "--max-wait", "10m"))
    wait_until(lambda: len(leases.waiting()) == 1, "it does not wait", run.process)
    screen = leases.run("--list=screen").stdout
    assert max(map(len, screen.splitlines())) <= 80 and len(screen.splitlines()) <= 24, screen
    assert all(gpu.address in screen for gpu in EIGHT) and "job-1/train" in screen and "#1 to " in screen
    for container in (*others, holder):
        container.end()
    started(run.finish())


