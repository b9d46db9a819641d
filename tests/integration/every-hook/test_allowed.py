# SPDX-License-Identifier: Apache-2.0
"""`allowed`: the GPUs that the device cgroup and the modes of their nodes let the hook open, as in a job of a batch
system that was given some of the host's."""

import os
from dataclasses import replace

import pytest

from harness import gpu as any_gpu
from harness.amd_container import KEY as AMD
from harness.amd_container import SHOW as AMD_SHOW
from harness.amd_container import given as amd_given
from harness.amd_container import nodes_for, on_host
from harness.bundle import Bundle
from harness.device_limits import DeviceLimits
from harness.expect import started
from harness.nvidia_container import KEY, PROBE, error_of, given, gpus_of, probed, refused
from harness.plan import read_plan
from harness.rootless import UID, RootlessBox, RootlessPodman, add_user
from hosts.amd import DRM, XT
from hosts.nvidia import CAPS, EIGHT, MAJOR, gi_minor

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

SHOW = f"{PROBE} probe /dev/nvidia*"
GIVEN = [1, 6]  # of EIGHT
AMD_FOUR = [replace(XT, address=f"0000:{0x10 + n:x}:00.0", card=1 + n, render=128 + n, unique=7 + n) for n in range(4)]
VERSIONS = ["v1", "v2"]


@pytest.fixture(name="limits")
def limits_fixture():
    """A function that makes a cgroup which denies what it is told. A test names this before the host that is in it."""
    made = []

    def make(*args):
        if os.geteuid() != 0:
            pytest.skip("needs root")
        made.append(DeviceLimits(*args))
        return made[-1]

    yield make
    for each in made:
        each.close()


def denied(*, but=GIVEN):
    return [each.minor for number, each in enumerate(EIGHT) if number not in but]


@pytest.mark.parametrize("version", VERSIONS)
def test_by_hand(limits, by_hand, version):
    group = limits(version, MAJOR, denied())
    process = by_hand("--plan", "--request", "allowed", "--log-level", "info", wrapper=group.wrapper)
    assert process.returncode == 0 and gpus_of(read_plan(process.stdout)) == GIVEN, process.stderr
    assert process.stderr.count("is left out: the device cgroup of this process") == 6
    for args, status, words in ((("--allow", "0"), 5, "--allow"), (("--max-devices", "0"), 5, "--max-devices")):
        error_of(by_hand("--plan", "--request", "allowed", *args, wrapper=group.wrapper), status, words)
    # All others ask no such question.
    assert gpus_of(read_plan(by_hand("--plan", "--request", "all", wrapper=group.wrapper).stdout)) == [*range(8)]


def test_instances_of_a_gpu(limits, by_hand, machine):
    """A batch system gives a job the nodes of some instances (MIG), and with them that of the GPU."""
    for compute_instance in range(3):
        minor = gi_minor(EIGHT[1], 1) + 1 + compute_instance
        machine.add_instance(1, 1, compute_instance)
        machine.node(f"dev/nvidia-caps/nvidia-cap{minor}", CAPS, minor, 0o444)
    group = limits("v1", CAPS, [minor])
    edits = read_plan(by_hand("--plan", "--request", "allowed", wrapper=group.wrapper).stdout)
    assert [path for path in any_gpu.nodes_of(edits) if "caps" in path] == [
        f"/dev/nvidia-caps/nvidia-cap{gi_minor(EIGHT[1], 1) + n}" for n in range(3)]


def test_nothing_is_allowed(limits, by_hand):
    group = limits("v1", MAJOR, denied(but=[]))
    error_of(by_hand("--plan", "--request", "allowed", wrapper=group.wrapper), 3, "'allowed'", "may open none",
             f"0 ({EIGHT[0].uuid}): the device cgroup", EIGHT[0].node)


def test_modes_count_where_there_is_no_root(by_hand, machine):
    for number, each in enumerate(EIGHT):
        machine.node(each.node.lstrip("/"), MAJOR, each.minor, 0o666 if number in GIVEN else 0o600)
    machine.remove(EIGHT[1].node.lstrip("/"))
    wrapper = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "unshare", "--user", "--map-root-user"]
    process = by_hand("--plan", "--request", "allowed", "--log-level", "info", wrapper=wrapper)
    assert process.returncode == 0 and gpus_of(read_plan(process.stdout)) == GIVEN[1:], process.stderr
    assert process.stderr.count("owner and mode of") == 6 and f"there is no '{machine}{EIGHT[1].node}'" in (
        process.stderr)


@pytest.mark.parametrize("version", VERSIONS)
def test_as_root(limits, nv_box, version):
    """The container may open what its own cgroup is told, whatever was above the runtime."""
    box = nv_box("allowed")
    limits(version, MAJOR, denied()).put_on(box.host)
    assert probed(started(box.run(SHOW))) == given(*(EIGHT[n] for n in GIVEN))


@pytest.fixture(name="rootless_box")
def rootless_box_fixture(limits, nv_host, nv_hook, machine, scratch, request):
    host = nv_host("v2")
    os.chmod(host.path("/dev/log"), 0o666)
    add_user(host, scratch)
    podman = RootlessPodman(scratch / "podman")
    limits(request.param, MAJOR, denied()).put_on(host)
    yield RootlessBox(host, podman, Bundle(scratch / "box"), nv_hook, ["--sysroot", machine, "--log-level", "info"])
    podman.clean(host)


@pytest.mark.parametrize("rootless_box", VERSIONS, indirect=True)
def test_rootless(rootless_box):
    """What the container may open is what its cgroup lets it, which is the job's."""
    rootless_box.annotations[KEY] = "allowed"
    assert {path: (each.number, each.said) for path, each in probed(started(rootless_box.run(SHOW))).items()} == {
        path: (each.number, each.said) for path, each in given(*(EIGHT[n] for n in GIVEN)).items()}
    rootless_box.annotations[KEY] = "all"
    refused(rootless_box.run(SHOW), 6, "device cgroup", "ask for 'allowed'")


@on_host(AMD_FOUR)
@pytest.mark.parametrize("version", VERSIONS)
def test_amd(limits, amd_by_hand, amd_machine, version):
    """What the device cgroup keeps from the container, KFD does not show it: some of several are enough for ROCm."""
    for path in (amd_machine.path / "dev").rglob("*"):
        if not path.is_dir():
            path.chmod(0o666)
    group = limits(version, DRM, [gpu.render for gpu in AMD_FOUR[1:3]])
    rootless = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "unshare", "--user", "--map-root-user"]
    for wrapper in (group.wrapper, [*group.wrapper, *rootless]):
        process = amd_by_hand("--plan", "--request", "allowed", wrapper=wrapper)
        assert process.returncode == 0, process.stderr
        assert any_gpu.nodes_of(read_plan(process.stdout)) == nodes_for(AMD_FOUR[0], AMD_FOUR[3])


@on_host(AMD_FOUR)
def test_amd_as_root(limits, amd_box):
    box = amd_box("allowed")
    assert AMD in box.annotations
    limits("v1", DRM, [gpu.render for gpu in AMD_FOUR[1:3]]).put_on(box.host)
    assert probed(started(box.run(AMD_SHOW))) == amd_given(AMD_FOUR[0], AMD_FOUR[3])
