# SPDX-License-Identifier: Apache-2.0
"""A GPU that looks dead is given to nobody, of either vendor: passed by where there is a choice, an error where it is
named, and shown by every list."""

import pytest

from harness import amd_container, engines, nvidia_container
from harness.amd_container import on_host
from harness.expect import started, told
from harness.leases import Container, Leases, ask
from harness.nvidia_container import KEY, refused
from harness.stopped import wait_until
from hosts.amd import CPX, CPX_BLANKS, MI210, XT
from hosts.sysroot import Sysroot

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

RUNC, CRUN = engines.RUNTIMES
ENGINES = pytest.mark.parametrize("engine", [RUNC, CRUN, engines.PODMANS[1]], ids=str)
NODES = "ls -d /dev/nvidia[0-9]* | sort | tr '\\n' ' '; echo"
RENDER = "ls /dev/dri | grep render | sort | tr '\\n' ' '; echo"


def nodes(*gpus):
    """What NODES prints."""
    return " ".join(sorted(gpu.node for gpu in gpus)) + " \n"


@ENGINES
def test_any_passes_a_dead_one_by_with_a_warning(nv_box, machine, engine):
    machine.kill(machine.gpus[0].address)
    result = nv_box("any:7", engine=engine).run(NODES)
    assert started(result) == nodes(*machine.gpus[1:])
    told(result, "GPU 0 ", machine.gpus[0].uuid, "is left out: looks dead: nothing answers at", machine.gpus[0].address)


@ENGINES
def test_a_dead_one_that_is_named_is_an_error_of_its_own(nv_box, leases, machine, engine):
    machine.kill(machine.gpus[1].address)
    for request in ("1", machine.gpus[1].uuid, machine.gpus[1].address, "0-2"):
        message = refused(nv_box(request, engine=engine).run(), 3, "GPU 1 ", "looks dead",
                          f"nothing answers at {machine.gpus[1].address} on the PCI bus")
        assert "this host has" not in message
    assert leases.are_free()
    assert started(nv_box("0,2", engine=engine).run(NODES)) == nodes(machine.gpus[0], machine.gpus[2])


def test_all_is_as_much_as_lives_and_too_few_are_not_waited_for(nv_box, machine):
    for gpu in machine.gpus[2:]:
        machine.kill(gpu.address)
    assert started(nv_box("all").run(NODES)) == nodes(*machine.gpus[:2])
    box = ask(nv_box("any:3", "--max-wait", "1h"), KEY, "exclusive", "1h")
    refused(box.run(), 3, "3 GPUs are asked for, and there are 2", "left out: 2 ", "looks dead")


@pytest.mark.parametrize("status", ["suspended", "suspending", "resuming"])
def test_what_sleeps_is_given_unread(nv_box, machine, status):
    """Its configuration space may say anything: reading it would wake the GPU."""
    for gpu in machine.gpus:
        machine.kill(gpu.address)
        machine.power(gpu.address, status)
    assert started(nv_box("any:8").run(NODES)) == nodes(*machine.gpus)


def test_what_shows_no_configuration_space_is_not_dead(nv_box, machine):
    for gpu in machine.gpus:
        (machine.path / machine.device_directory(gpu.address) / "config").unlink()
    assert started(nv_box("all").run(NODES)) == nodes(*machine.gpus)


def test_a_virtual_function_is_not_dead(nv_box, machine):
    for gpu in machine.gpus:
        machine.configuration(gpu.address, b"\xff" * 4 + bytes.fromhex("06041000a1000203").ljust(60, b"\0"))
    assert started(nv_box("all").run(NODES)) == nodes(*machine.gpus)


def test_only_what_may_be_chosen_is_read(by_hand, machine, scratch):
    """One that does not answer costs what the bus needs, which is nothing to whoever asks for another."""
    trace = scratch / "trace"
    strace = ("/usr/bin/strace", "-f", "-qq", "-o", trace, "-e", "trace=openat,open")
    for request, options, places in (("1", (), [1]), ("any:1", ("--allow", "0,2"), [0, 2]), ("none", (), [])):
        process = by_hand("--plan", "--request", request, *options, wrapper=strace)
        assert process.returncode == 0, process.stderr
        opened = {gpu.address for gpu in machine.gpus
                  if f"{gpu.address}/config" in trace.read_text(encoding="utf-8")}
        assert opened == {machine.gpus[place].address for place in places}, request


def test_instances_die_with_their_gpu(nv_box, machine):
    for index in (0, 1):
        machine.add_instance(index, 1, 0)
    machine.kill(machine.gpus[0].address)
    gpu = machine.gpus[0]
    refused(nv_box(f"MIG-{gpu.uuid}/1/0").run(), 3, "looks dead", gpu.address)
    assert nodes(machine.gpus[1]) == started(nv_box("any:1", "--allow", "0,1").run(NODES))


@on_host(MI210)
@ENGINES
def test_amd_any_passes_it_by_and_a_name_is_an_error(amd_box, amd_machine, engine):
    gpus = sorted(MI210, key=lambda gpu: gpu.address)
    amd_machine.kill(gpus[0].address)
    result = amd_box("any:7", engine=engine).run(RENDER)
    assert started(result) == " ".join(sorted(f"renderD{gpu.render}" for gpu in gpus[1:])) + " \n"
    told(result, "GPU 0 ", "is left out: looks dead: nothing answers at", gpus[0].address)
    amd_container.refused(amd_box("0", engine=engine).run(), 3, "GPU 0 ", "looks dead", gpus[0].address)


def test_amd_a_dead_gpu_is_no_reason_to_take_the_integrated_one(amd_box, amd_machine):
    """A program for the one does not run on the other."""
    amd_machine.kill(XT.address)
    amd_container.refused(amd_box("any:1").run(), 3, "any:1", "looks dead")
    assert started(amd_box("igpu").run(RENDER)) == "renderD128 \n"


@on_host(CPX, blanks=CPX_BLANKS)
def test_amd_partitions_die_with_their_gpu(amd_box, amd_machine):
    amd_machine.kill(CPX[0].address)
    result = amd_box("any:56").run("ls /dev/dri | grep -c render")
    assert started(result) == "56\n"
    for request in ("0:3", "any:57"):
        amd_container.refused(amd_box(request).run(), 3, "looks dead", CPX[0].address)


def test_every_list_shows_it(nv_hook, machine, leases):
    gpu = machine.gpus[7]
    machine.kill(gpu.address)
    rows = leases.read()["gpus"]
    assert [row["state"] for row in rows] == [""] * 7 + [f"looks dead: nothing answers at {gpu.address} on the PCI bus"]
    status = leases.run("--list=status").stdout
    assert status == ("nvidia: 7 GPUs, 7 free, 0 shared, 0 exclusive, 0 drained, 0 kept for those who wait, "
                      "1 that look dead; 0 waiting\n")
    tags = leases.run("--list=tags")
    assert "gpu-count=7\ngpu-devices=0,1,2,3,4,5,6\n" in tags.stdout
    assert "GPU 7 " in tags.stderr and "looks dead" in tags.stderr
    assert f"{gpu.address}  free   looks dead: nothing" in leases.run("--list=screen").stdout
    machine.revive(gpu.address)
    assert "looks dead" not in leases.run("--list").stdout


@pytest.fixture(name="waiting")
def waiting_fixture(nv_box, leases):
    """A function that starts a container with an exclusive lease, which waits for it, two minutes at most; gives it."""
    containers = []

    def start(request, *args, engine=RUNC):
        box = ask(nv_box(request, "--max-wait", "2m", *args, engine=engine), KEY, "exclusive", "2m")
        box.timeout = 180
        before = len(leases.waiting())
        containers.append(Container(box, NODES))
        wait_until(lambda: len(leases.waiting()) > before, "it does not wait", containers[-1].run.process)
        return containers[-1]

    yield start
    for container in containers:
        container.end()


@ENGINES
def test_one_that_is_found_dead_after_a_wait_goes_back_and_the_next_is_chosen(nv_box, waiting, leases, machine, engine):
    """At the place in the queue that the container had."""
    first = [Container(ask(nv_box(str(n), engine=engine), KEY, "exclusive"), NODES).ready() for n in (0, 1)]
    second = waiting("any:1", "--allow", "0,1", engine=engine)
    third = waiting("0-1")
    machine.kill(machine.gpus[0].address)
    first[0].end()
    wait_until(lambda: leases.rows("gpus", "state") == [
        ("1", "running"), ("any:1 of 1", "waiting"), ("0,1", "waiting")], "it does not wait again", second.run.process)
    first[1].end()
    assert second.ready().out == nodes(machine.gpus[1])
    told(second.end(), "passed by: GPU 0 ", "looks dead")
    refused(third.end(), 3, "while the container waited", "GPU 0 ", "looks dead")
    assert leases.are_free()


def test_too_few_living_ones_are_no_reason_to_wait_on(nv_box, waiting, leases, machine):
    first = Container(ask(nv_box("0-1"), KEY, "exclusive"), NODES).ready()
    second = waiting("any:7")
    for gpu in machine.gpus[:2]:
        machine.kill(gpu.address)
    first.end()
    message = refused(second.end(), 3, "while the container waited", "GPU 0 ", "GPU 1 ", "looks dead")
    assert "GPU 2 " not in message and leases.are_free()
