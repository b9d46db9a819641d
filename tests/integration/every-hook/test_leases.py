# SPDX-License-Identifier: Apache-2.0
"""Who has a GPU keeps others from it, by real engines: exclusive and shared, all or nothing, and given back whatever
becomes of the container."""

import fcntl
import os
import re
import time

import pytest

from harness import amd_container, engines, nvidia_container
from harness.amd_container import on_host
from harness.bundle import Bundle
from harness.expect import started
from harness.faults import strace
from harness.leases import DIRECTORY, Container, Leases, ask
from harness.nvidia_container import KEY, in_vain, refused
from harness.stopped import hook_stopped, status, wait_until
from hosts.amd import CPX, CPX_BLANKS, AmdHost

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

RUNC, CRUN = engines.RUNTIMES
CAP_KILL = 1 << 5
TIME = r"since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
SHOW = f"{nvidia_container.PROBE} probe $(ls -d /dev/nvidia* | sort)"
NODES = "ls -d /dev/nvidia[0-9]* | sort | tr '\\n' ' '; echo"


@pytest.fixture(name="holding")
def holding_fixture(nv_box):
    """A function that gives a container that runs: holding(request, lease, *options of the hook, engine=…)."""
    containers = []

    def hold(request, lease=None, *args, engine=RUNC):
        containers.append(Container(ask(nv_box(request, *args, engine=engine), KEY, lease), NODES))
        return containers[-1].ready()

    yield hold
    for container in containers:
        container.end()


def nodes(*gpus):
    """What NODES prints."""
    return " ".join(sorted(gpu.node for gpu in gpus)) + " \n"


@pytest.mark.parametrize("engine", [RUNC, CRUN], ids=str)
def test_another_stage_is_named_and_no_lease_is_to_be_cleared(nv_box, holding, engine):
    """In createContainer it sees other numbers of processes; nobody is told to remove the leases for that."""
    holding("0")
    box = nv_box("1", engine=engine)
    box.stage = "createContainer"
    result = box.run(NODES)
    assert result.code != 0, result
    if engine is RUNC:
        assert "this hook belongs at the stage createRuntime" in result.hook_message, result.err
        assert "clears" not in result.hook_message


def test_with_the_lease_the_hook_can_end_nobody_any_more(nv_box):
    """CAP_KILL is for a takeover; what acts on what the container has comes after it."""
    with hook_stopped(nv_box("0"), "mknodat") as stop:
        seen = status(stop.pid)
    started(stop.result)
    assert [int(seen[name], 16) & CAP_KILL for name in ("CapPrm", "CapEff")] == [0, 0]


@pytest.mark.parametrize("engine", [RUNC, CRUN, engines.PODMANS[1]], ids=str)
@pytest.mark.parametrize("first, second", [("exclusive", "shared"), ("shared", "exclusive")])
def test_an_exclusive_lease_is_alone(nv_box, holding, leases, engine, first, second):
    """The message names the holder, whole, and since when; what is not asked for in vain is given to nobody."""
    container = holding("1", first, engine=engine)
    [(holder, mode, state)] = leases.rows("container", "lease", "state")
    assert (mode, state) == (first, "running") and re.fullmatch("[0-9a-f]{64}", holder)
    message = refused(ask(nv_box("0-1", engine=engine), KEY, second).start("echo started").finish(), 4,
                      "GPU 1 ", f"'{holder}'")
    how = {"exclusive": "exclusively", "shared": "shared"}[first]
    assert re.search(f"held {how} by container '{holder}' {TIME}; it did not wait$", message)
    assert leases.rows("container", "gpus") == [(holder, "1")]
    container.end()
    assert container.result.name == holder and leases.are_free()


def test_shared_leases_are_together_and_another_gpu_is_free(nv_box, holding, leases, machine):
    holding("1")
    holding("1", "shared")
    assert started(ask(nv_box("2-7"), KEY, "exclusive").run(NODES)) == nodes(*machine.gpus[2:])
    assert leases.rows("gpus", "lease") == [("1", "shared")] * 2
    [gpu] = [gpu for gpu in leases.read()["gpus"] if gpu["lease"] != "free"]
    assert gpu["lease"] == "shared by 2"


def test_any_takes_what_is_free_and_each_gpu_in_turn(nv_box, holding, machine):
    holding("0,2-7", "exclusive")
    taken = holding("any:1")
    assert taken.out == nodes(machine.gpus[1])
    refused(ask(nv_box("any:2"), KEY, "shared").run(), 4)
    taken.end()
    assert started(ask(nv_box("any:1"), KEY, "exclusive").run(NODES)) == nodes(machine.gpus[1])


def test_any_takes_the_one_that_was_used_longest_ago(nv_box, machine):
    """Else all work were on the first one."""
    for gpu in machine.gpus[:3]:
        assert started(nv_box("any:1").run(NODES)) == nodes(gpu)


@pytest.mark.parametrize("limit", [4, 3])
def test_a_second_request_of_a_container_adds_and_policy_counts_both(nv_box, machine, leases, limit):
    """As from two CDI devices. It is not in its own way, and what both ask for counts once."""
    box = nv_box(None, "--min-lease", "exclusive", "--max-devices", str(limit), "--request", "0-1")
    box.loader = "concourse"
    box.first.append(box._entry())  # pylint: disable=protected-access
    box.args[-1] = "1-3"
    if limit == 4:
        container = Container(box, NODES).ready()
        assert container.out == nodes(*machine.gpus[:4])
        assert leases.rows("gpus", "lease") == [("0,1,2,3", "exclusive")]
        container.end()
    else:
        refused(box.run(), 5, "before", "4 GPUs", "--max-devices allows 3")
    assert leases.are_free()


@pytest.fixture(name="amd_machine_beside")
def amd_machine_beside_fixture(nv_host, machine, scratch):
    """AMD's GPUs of the same host: it has the same /run."""
    beside = AmdHost(scratch / "beside")
    for host in (machine, beside):
        (host.path / "run").mkdir(exist_ok=True)
    nv_host().mount("--bind", machine.path / "run", beside.path / "run")
    return beside


def test_amd_and_nvidia_in_one_container(nv_box, nv_host, amd_hook, amd_machine_beside, leases, machine):
    """Each hook has its lease of the one container, and one cannot be had without the other."""
    def both(lease):
        box = ask(ask(nv_box("0"), KEY, lease), amd_container.KEY, lease)
        box.annotations[amd_container.KEY] = "0"
        box.last = [amd_hook.entry(["--sysroot", amd_machine_beside, "--log-level", "info"])]
        return box

    amd = Leases(amd_hook.executable, amd_machine_beside, before=nv_host().command([]))
    container = Container(both("exclusive")).ready()
    assert leases.rows("gpus", "lease") == amd.rows("gpus", "lease") == [("0", "exclusive")]
    box = both("shared")
    del box.annotations[KEY], box.annotations[f"{KEY}.lease"]
    result = box.run()
    amd_container.refused(result, 4, container.run.name)
    container.end()
    assert leases.are_free() and amd.are_free()
    assert started(both("shared").run(NODES)) == nodes(machine.gpus[0])


@on_host(CPX, blanks=CPX_BLANKS)
def test_a_gpu_of_amd_and_its_partitions_exclude_each_other(amd_box, amd_hook, amd_machine):
    leases = Leases(amd_hook.executable, amd_machine)
    key = amd_container.KEY
    part = Container(ask(amd_box("1:3"), key, "exclusive")).ready()
    amd_container.refused(amd_box("0000:2b:00.0").run(), 4, part.run.name)
    assert started(ask(amd_box("1:2,0:3"), key, "exclusive").run()) == "started\n"
    part.end()
    whole = Container(ask(amd_box("0000:2b:00.0"), key, "exclusive")).ready()
    amd_container.refused(amd_box("1:3").run(), 4, whole.run.name)
    whole.end()
    assert leases.are_free()


def fail_afterwards(box):
    box.last = [{"path": "/bin/false", "args": ["false"]}]


def lack_a_program(box):
    (box.rootfs / "bin/sh").unlink()


@pytest.mark.parametrize("spoil", [fail_afterwards, lack_a_program])
@pytest.mark.parametrize("engine", [RUNC, CRUN], ids=str)
def test_a_container_that_does_not_start_leaves_no_lease(nv_box, leases, engine, spoil):
    box = ask(nv_box("all", engine=engine), KEY, "exclusive")
    spoil(box)
    result = box.run()
    assert result.code != 0 and result.out == ""
    assert started(ask(nv_box("all"), KEY, "exclusive").run()) == "started\n"
    assert leases.are_free()


def test_a_hook_that_fails_gives_back_at_once_and_after_the_nodes(nv_box, leases, scratch):
    """The container goes on nevertheless: so it is not its end that frees them. Who takes them next must not meet
    another one that still has their nodes."""
    box = ask(nv_box("0-2"), KEY, "exclusive")
    trace = scratch / "trace"
    box.wrapper = ("/usr/bin/strace", "-qq", "-o", trace, "-e", "trace=flock,mknodat,unlinkat",
                   "-e", "inject=mknodat:error=EIO:when=6")
    in_vain(box, scratch / "code")
    container = Container(box, "ls /dev").ready()
    assert leases.are_free() and "nvidia" not in container.out
    container.end()
    assert (scratch / "code").read_text(encoding="ascii") == "1\n"
    calls = re.findall(r"^(flock|unlinkat)\(.*= 0$", trace.read_text(encoding="ascii", errors="replace"), re.MULTILINE)
    assert calls[0] == calls[-1] == "flock" and calls.count("unlinkat") >= 3, calls


def test_a_hook_that_stands_still_with_the_lock_is_named(nv_box, leases):
    """By the next one, which gives up long before its own time is over."""
    with hook_stopped(ask(nv_box("0"), KEY, "exclusive"), "renameat") as stop:
        before = time.monotonic()
        message = refused(ask(nv_box("1"), KEY).start("echo started").finish(), 6)
        assert 9 < time.monotonic() - before < 20
        assert f"leases/lock' has been locked for 10 s by the process {stop.pid} ('nvidia-devices', stopped)" in message
    assert started(ask(nv_box("0"), KEY, "exclusive").run()) == "started\n"
    assert leases.are_free()


def test_who_waits_for_the_lock_reads_no_list_of_all_locks(nv_box, leases, machine, scratch):
    """A user with 300 locks in each of 900 files has the kernel take a minute for /proc/locks."""
    started(nv_box("0").run())
    traces = scratch / "hook", scratch / "list"
    [of_hook, of_list] = [("/usr/bin/strace", "-D", "-f", "-qq", "-o", trace, "-e", "trace=flock,openat")
                          for trace in traces]
    box = nv_box("0")
    box.wrapper = of_hook
    with open(machine.path / DIRECTORY / "lock", "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run = box.start("echo started")
        wait_until(lambda: traces[0].exists() and "EAGAIN" in traces[0].read_text(), "nothing waits", run.process)
        assert leases.run("--list=status", before=of_list).returncode == 0
        time.sleep(1.5)  # there is a look at each second
    assert started(run.finish()) == "started\n"
    for trace in traces:
        opened = re.findall(r'openat\([^"]*"([^"]*)"', trace.read_text())
        assert opened and not [path for path in opened if path in ("locks", "/proc/locks")], opened


def test_a_plan_takes_no_lease_and_heeds_none(holding, plan, leases):
    holding("all", "exclusive")
    edits = plan("--request", "0")
    assert nvidia_container.gpus_of(edits) == [0]
    assert leases.rows("lease") == [("exclusive",)]


def of_a_user(directory, host):  # pylint: disable=unused-argument
    os.chown(directory, 1000, 1000)


def for_everyone(directory, host):  # pylint: disable=unused-argument
    directory.chmod(0o777)


def a_symlink(directory, host):  # pylint: disable=unused-argument
    directory.rename(directory.parent / "elsewhere")
    directory.symlink_to("elsewhere")


def read_only(directory, host):
    host.mount("-t", "tmpfs", "-o", "ro,mode=755", "tmpfs", directory)


@pytest.mark.parametrize("spoil", [of_a_user, for_everyone, a_symlink, read_only])
def test_a_directory_that_is_not_roots_alone_stops_the_container(nv_box, nv_host, machine, spoil):
    directory = machine.path / "run/oci-gpu-hooks/leases"
    directory.mkdir(parents=True)
    box = nv_box("0")
    spoil(directory, nv_host())
    refused(box.run(), 6, str(directory))


def test_an_ordinary_user_sees_who_has_what(holding, leases):
    """But not who asked, which is root's to know."""
    holding("0", "exclusive")
    user = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"]
    seen, seen_by_root = leases.read(user), leases.read()
    [entry], [whole] = seen["leases"], seen_by_root["leases"]
    assert (entry["asker"], whole["asker"]) == (None, "annotation")
    whole["asker"] = None
    assert seen == seen_by_root
    assert (entry["gpus"], entry["lease"], entry["state"]) == ("0", "exclusive", "running")
    refused_to_drain = leases.run("--drain", "0", before=user)
    assert refused_to_drain.returncode == 6 and "root" in refused_to_drain.stderr


def test_a_drained_gpu_is_given_to_nobody(nv_box, holding, leases, machine):
    """Who has it keeps it; the next reboot or root gives it again."""
    holding("0")
    assert leases.run("--drain", "0-6").returncode == 0
    refused(nv_box("0").run(), 4, "drained by root since")
    assert started(nv_box("any:1").run(NODES)) == nodes(machine.gpus[7])
    assert leases.read()["gpus"][0]["lease"] == "drained, shared"
    assert leases.run("--undrain", "0-6").returncode == 0
    assert started(nv_box("0").run(NODES)) == nodes(machine.gpus[0])
