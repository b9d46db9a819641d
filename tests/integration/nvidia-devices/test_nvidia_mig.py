# SPDX-License-Identifier: Apache-2.0
"""Parts of GPUs (MIG): what a container has of those that it was given, and of no others."""

import json

import pytest

from harness import engines
from harness.expect import started
from harness.gpu import nodes_of
from harness.nvidia_container import (ALLOWED, DENIED, KEY, PROBE, alive, asked, error_of, given, gpus_of, node, probed,
                                      refused)
from hosts.nvidia import CAPS, EIGHT, gi_minor

pytest_plugins = ["harness.nvidia_fixtures"]

RUNC, CRUN = engines.RUNTIMES
PROC = "/proc/driver/nvidia/capabilities"
FIND = f"(cd {PROC} && find . -type f | sort)"
PARTED = EIGHT[1]
# Nodes of the driver's mode 0444 are opened as those of NVIDIA's libraries are: for reading.
READ = PROBE.replace("<>", "<")


def part(instance):
    """What a part of PARTED is called."""
    return f"MIG-{PARTED.uuid}/{instance}"


def cap(minor, said=ALLOWED):
    """A node in /dev/nvidia-caps that the container was given."""
    return node(CAPS, minor, said, mode="444")


@pytest.fixture(autouse=True)
def parts(machine):
    """The GPU 1 is divided into three, of which two are in one GPU instance."""
    for gpu_instance, compute_instance in ((1, 0), (1, 1), (7, 0)):
        machine.add_instance(1, gpu_instance, compute_instance)


@pytest.mark.parametrize("engine", [RUNC, engines.MAPPED[1], engines.PODMANS[1]], ids=str)
def test_a_part_of_a_gpu(nv_box, machine, engine):
    """Its nodes open, and the driver's files are there for it alone. What belongs to its neighbours is denied."""
    outer = gi_minor(PARTED, 1)
    box, denied = nv_box(part("1/0"), engine=engine), {}
    for name, minor in (("neighbour", outer + 2), ("config", 1)) if not engine.podman else ():
        machine.node(f"dev/{name}", CAPS, minor)
        box.volume(f"/dev/{name}", machine.path / "dev" / name)
        denied[f"/dev/{name}"] = node(CAPS, minor, DENIED, "65534:65534" if engine.mapped else "0:0")
    access = f"{PROC}/gpu{PARTED.minor}/mig/gi1/ci0/access"
    out = started(box.run(f"{READ} probe $(find /dev -name 'nvidia*' -type c)"
                          f" {' '.join(denied)}; echo --; {FIND}; cat {access}; ls /proc/driver/nvidia/gpus;"
                          f" ! echo x 2> /dev/null > {access}"))
    seen, files = out.split("--\n")
    assert probed(seen) == given(PARTED) | denied | {
        f"/dev/nvidia-caps/nvidia-cap{minor}": cap(minor) for minor in (outer, outer + 1)}
    directory = f"./gpu{PARTED.minor}/mig/gi1"
    assert files.splitlines() == [f"{directory}/access", f"{directory}/ci0/access", f"DeviceFileMinor: {outer + 1}",
                                  "DeviceFileMode: 292", "DeviceFileModify: 1", PARTED.address]


@pytest.mark.parametrize("engine", [RUNC], ids=str)
def test_further_requests_for_parts_of_one_gpu(nv_box, engine):
    """They add up, in /dev and in /proc, where what they have in common is there once. A repeat changes nothing."""
    box = nv_box(None, "--request", part("1/0"), engine=engine)
    box.loader = "concourse"
    for request in (part("1/1"), part("1/0"), part("7/0")):
        box.first.append(box._entry())  # pylint: disable=protected-access
        box.args[-1] = request
    out = started(box.run(f"{FIND}; ls /dev/nvidia-caps; grep -c {PROC} /proc/self/mountinfo"))
    directory, inner, outer = f"./gpu{PARTED.minor}/mig", gi_minor(PARTED, 1), gi_minor(PARTED, 7)
    assert out.splitlines() == [
        *(f"{directory}/{access}" for access in ("gi1/access", "gi1/ci0/access", "gi1/ci1/access", "gi7/access",
                                              "gi7/ci0/access")),
        *(f"nvidia-cap{minor}" for minor in (inner, inner + 1, inner + 2, outer, outer + 1)), "5"]


@pytest.mark.parametrize("engine", [CRUN], ids=str)
def test_a_lease_of_a_part_excludes_the_gpu_and_not_its_other_parts(nv_box, engine):
    def box(request):
        made = nv_box(request, engine=engine)
        made.annotations[KEY + ".lease"] = "exclusive"
        return made

    with alive(box(part("1/0")), "true"):
        for request in ("1", PARTED.uuid, PARTED.address, part("1/0"), "all"):
            refused(box(request).run("true"), 4, PARTED.uuid)
        started(box(part("1/1")).run("true"))
        started(box("0").run("true"))
    with alive(box("1"), "true"):
        refused(box(part("7/0")).run("true"), 4, part("7/0"))


def test_what_a_request_means(plan, by_hand):
    def parts_of(*args, **config):
        return [path.removeprefix("/dev/nvidia-caps/nvidia-cap") for path in nodes_of(plan(*args, **config))
                if "caps" in path]

    every = [str(gi_minor(PARTED, outer) + n) for outer, last in ((1, 3), (7, 2)) for n in range(last)]
    assert gpus_of(plan(**asked("all"))) == list(range(8))
    for config in (asked("all"), asked("1"), asked(PARTED.address), asked("env", env=["NVIDIA_VISIBLE_DEVICES=all"])):
        assert parts_of(**config) == every
    by_env = asked("env", env=[f"NVIDIA_VISIBLE_DEVICES={part('7/0')}"])
    assert parts_of(**by_env) == every[-2:] and gpus_of(plan(**by_env)) == [1]
    assert parts_of("--allow", part("7/0"), **asked("any:1")) == every[-2:]
    assert parts_of(**asked("0")) == []
    error_of(by_hand("--plan", "--allow", part("7/0"), **asked("1")), 5, "(--allow)", part("7/0"))
    error_of(by_hand("--plan", **asked(part("7/1"))), 3, "this host has 0 (GPU-", part("7/0"))
    for name in ("1:0", "MIG-5a1c0de0-1111-4222-8333-0123456789ff", "mig-1g.10gb"):
        # The library of this host is a stub.
        error_of(by_hand("--plan", **asked(name)), 6, f"'{name}'", "ask for them as", part("1/0"))
        error_of(by_hand("--plan", **asked("env", env=[f"NVIDIA_VISIBLE_DEVICES={name}"])), 6, f"'{name}'")


def test_a_part_that_the_driver_contradicts_itself_about(plan, by_hand, machine):
    """Its node could be that of another part, or the right to divide GPUs."""
    name = f"proc/driver/nvidia/capabilities/gpu{PARTED.minor}/mig/gi7/ci0/access"
    machine.remove(name)
    machine.cap(name, 1)
    error_of(by_hand("--plan", **asked(part("7/0"))), 6, "has the minor 1", "mig-minors'")
    for request in ("1", "all"):
        assert f"/dev/nvidia-caps/nvidia-cap{gi_minor(PARTED, 1)}" in nodes_of(plan(**asked(request)))
        assert "/dev/nvidia-caps/nvidia-cap1" not in nodes_of(plan(**asked(request)))


@pytest.mark.parametrize("engine", [RUNC], ids=str)
def test_a_part_that_a_further_request_moves_another_one_to(nv_box, machine, engine):
    """It was not asked for, so that it is looked at last."""
    box = nv_box(None, "--request", "any:1", "--allow", f"0,{part('7/0')}", engine=engine)
    box.loader = "concourse"
    box.first.append(box._entry())  # pylint: disable=protected-access
    box.args[box.args.index("any:1")] = "0"
    out = started(box.run("ls /dev | grep 'nvidia[0-9]'; ls /dev/nvidia-caps | wc -l"))
    assert sorted(out.split()) == ["2", f"nvidia{PARTED.minor}", f"nvidia{EIGHT[0].minor}"]
    machine.remove(contradicted := f"proc/driver/nvidia/capabilities/gpu{PARTED.minor}/mig/gi7/ci0/access")
    machine.cap(contradicted, 1)
    refused(box.run("true"), 6, "has the minor 1", "mig-minors'")


def test_the_list_has_parts(by_hand):
    document = json.loads(by_hand("--list=json").stdout)
    assert document["gpus"][8:] == [
        {"index": None, "address": PARTED.address, "uuid": part(name), "model": "NVIDIA Example 48",
         "node": f"/dev/nvidia-caps/nvidia-cap{minor}", "lease": "free", "state": ""}
        for name, minor in (("1/0", gi_minor(PARTED, 1) + 1), ("1/1", gi_minor(PARTED, 1) + 2),
                            ("7/0", gi_minor(PARTED, 7) + 1))]
    assert by_hand("--list=status").stdout.startswith("nvidia: 10 GPUs, 10 free,")
