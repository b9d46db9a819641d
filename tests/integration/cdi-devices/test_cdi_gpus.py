# SPDX-License-Identifier: Apache-2.0
"""GPUs that a specification names and that have a hook of their own: by that hook's policy and leases, or not at all."""

import json

import pytest

from harness import engines
from harness.cdi_fixtures import KEY as CDI
from harness.expect import refused_by, started
from harness.leases import Container, Leases, ask
from harness.nvidia_container import ALLOWED, KEY, PROBE, probed
from harness.stopped import wait_until
from hosts.amd import BOTH, AmdHost
from hosts.nvidia import CAPS, CTL, DRM, EIGHT, IMEX, MAJOR, UVM, gi_minor

pytest_plugins = ["harness.nvidia_fixtures", "harness.cdi_fixtures"]

RUNC, CRUN = engines.RUNTIMES
KIND = "nvidia.com/gpu"
GIVE = ("--give-gpus", "--allow", f"{KIND},vendor.com/gpu", "--max-devices", "8")
SHOW = f"{PROBE} probe $(ls -d /dev/nvidia[0-9]* 2>/dev/null | sort)"
LEASE = ("--min-lease", "exclusive")


def edits(*nodes):
    """Of nodes by their paths, or whole."""
    return {"deviceNodes": [{"path": node} if isinstance(node, str) else node for node in nodes]}


def cap(minor):
    """A node of /dev/nvidia-caps; a driver makes none by itself."""
    return {"path": f"/dev/nvidia-caps/nvidia-cap{minor}", "type": "c", "major": CAPS, "minor": minor}


def specify(machine, devices, file="vendor", kind=KIND, of_all=()):
    """A specification in /etc/cdi of a host: devices by their names, each with its edits."""
    machine.write(f"etc/cdi/{file}.json", json.dumps({
        "cdiVersion": "0.6.0", "kind": kind, "containerEdits": edits(*of_all),
        "devices": [{"name": name, "containerEdits": each} for name, each in devices.items()]}))


class Specified:
    """NVIDIA's host with what the vendor's tool writes: each GPU by its place, and all of them."""

    def __init__(self, machine):
        self.machine, self.path = machine, machine.path
        names = {str(index): [gpu.node, f"/dev/dri/renderD{gpu.render}"] 
                 for index, gpu in enumerate(machine.gpus)}
        names["all"] = [node for nodes in names.values() for node in nodes]
        specify(machine, {name: edits(*nodes) for name, nodes in names.items()},
                of_all=("/dev/nvidiactl", "/dev/nvidia-uvm"))


@pytest.fixture
def cdi_host(machine):
    """In place of the one without any driver: NVIDIA's, which both hooks then are on."""
    return Specified(machine)


@pytest.fixture(name="holding")
def holding_fixture():
    """A function that lets containers run until the end of the test."""
    containers = []

    def hold(box):
        containers.append(Container(box, SHOW))
        return containers[-1].ready()

    yield hold
    for container in containers:
        container.end()


def error_of(process, status, *words):
    assert (process.returncode, process.stdout) == (status, ""), process
    for word in words:
        assert word in process.stderr, (word, process.stderr)
    return process.stderr


def planned(cdi_by_hand, request, *args):
    process = cdi_by_hand("--plan", "--request", request, *args)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)["devices"][0]["containerEdits"]["deviceNodes"]


def keys(cdi_by_hand, *args):
    """What leases know each device by."""
    process = cdi_by_hand("--list=json", *args)
    assert process.returncode == 0, process.stderr
    return {row["device"]: row["keys"] for row in json.loads(process.stdout)["devices"]}


OTHERS = {  # nodes that nobody would take for a GPU's by their paths
    "by-number": {"deviceNodes": [{"path": "/dev/thing", "type": "c", "major": MAJOR, "minor": 3}]},
    "u": {"deviceNodes": [{"path": "/dev/thing", "type": "u", "major": MAJOR, "minor": 3, "permissions": "none"}]},
    "control": {"deviceNodes": [{"path": "/dev/thing", "type": "c", "major": MAJOR, "minor": CTL}]},
    "uvm": {"deviceNodes": [{"path": "/dev/thing", "type": "c", "major": UVM, "minor": 0}]},
    "caps": {"deviceNodes": [{"path": "/dev/thing", "type": "c", "major": CAPS, "minor": 1}]},
    "imex": {"deviceNodes": [{"path": "/dev/thing", "type": "c", "major": IMEX, "minor": 0}]},
    "drm": {"deviceNodes": [{"path": "/dev/thing", "type": "c", "major": DRM, "minor": EIGHT[3].render}]},
    "mounted": {"mounts": [{"hostPath": EIGHT[3].node, "containerPath": "/dev/thing", "options": ["bind"]}]}}


@pytest.mark.parametrize("engine", [RUNC, CRUN, engines.PODMANS[0]], ids=str)
def test_gpus_are_their_own_hooks(cdi_box, engine):
    """By whatever name: without a word of the host's, none is given."""
    message = refused_by("cdi-devices", cdi_box(f"{KIND}=0", engine=engine).run(), 5, f"'{KIND}=0'", "--give-gpus")
    assert "'io.oci-gpu-hooks.nvidia-devices'" in message


def test_what_a_node_is_is_told_by_its_number(cdi_by_hand, machine):
    machine.devices(**{"nvidia-caps-imex-channels": IMEX})
    specify(machine, OTHERS, "other", "other.example/thing")
    specify(machine, {"x": {"env": ["A=b"]}}, "global", "other.example/shared", of_all=(EIGHT[2].node,))
    for name in [f"other.example/thing={name}" for name in OTHERS] + ["other.example/shared=x"]:
        error_of(cdi_by_hand("--plan", "--request", name), 5, "which the hook nvidia-devices gives")
    states = {row["device"]: row["state"] for row in
              json.loads(cdi_by_hand("--list=json").stdout)["devices"]}
    assert set(states.values()) == {"nvidia-devices gives it"}, states


def test_amds(cdi_by_hand, cdi_host, scratch):
    amd = AmdHost(scratch / "amd")
    cdi_host.path.rename(scratch / "nvidia")
    amd.path.rename(cdi_host.path)
    amd.path = cdi_host.path
    render = [f"/dev/dri/renderD{gpu.render}" for gpu in BOTH]
    specify(amd, {"kfd": edits("/dev/kfd"), "0": edits("/dev/kfd", render[0]), "all": edits("/dev/kfd", *render)},
            kind="amd.com/gpu")
    for name in ("kfd", "0", "all"):
        error_of(cdi_by_hand("--plan", "--request", f"amd.com/gpu={name}"), 5, "which the hook amd-kfd gives")
    known = [f"amd:{gpu.address}" for gpu in BOTH]
    assert keys(cdi_by_hand) == {"amd.com/gpu=kfd": None, "amd.com/gpu=0": known[0],
                                 "amd.com/gpu=all": ",".join(sorted(known))}


def test_giving_gpus_takes_a_policy(cdi_by_hand):
    for args in (("--give-gpus",), ("--give-gpus", "--allow", KIND), ("--give-gpus", "--max-devices", "1")):
        error_of(cdi_by_hand("--list", *args), 2, "--allow and --max-devices")


def test_a_number_of_devices_is_one_of_gpus(cdi_by_hand):
    """`all` is as many as it has, and two names of one GPU are one."""
    some = ("--give-gpus", "--allow", KIND, "--max-devices", "2")
    error_of(cdi_by_hand("--plan", "--request", f"{KIND}=all", *some), 5, "allows a container 2 devices", "asks for 8")
    error_of(cdi_by_hand("--plan", "--request", f"{KIND}=0,{KIND}=1,{KIND}=2", *some), 5, "asks for 3")
    assert len(planned(cdi_by_hand, f"{KIND}=0,{KIND}=1", *some)) == 6
    assert len(planned(cdi_by_hand, f"{KIND}=0,{KIND}=all", *GIVE)) == 18


@pytest.mark.parametrize("engine", [RUNC, CRUN, engines.PODMANS[1]], ids=str)
def test_a_gpu_that_another_container_holds(nv_box, cdi_box, holding, engine):
    """By the GPU hook exclusively: twenty times out of twenty it is given to nobody; the others are."""
    holding(ask(nv_box("1", engine=engine), KEY, "exclusive"))
    for request in (f"{KIND}=all", f"{KIND}=1") * (10 if engine == RUNC else 1):
        refused_by("cdi-devices", cdi_box(request, *GIVE, engine=engine).start("true").finish(), 4,
                   "held exclusively by container", "nvidia:" + EIGHT[1].address)
    seen = probed(started(cdi_box(f"{KIND}=0", *GIVE, engine=engine).start(SHOW).finish()))
    assert {path: each.said for path, each in seen.items()} == {EIGHT[0].node: ALLOWED}


def test_a_gpu_that_this_hook_gave(nv_box, cdi_box, holding, nv_hook, machine):
    """Its lease is one for all hooks, and is in their lists."""
    leases = Leases(nv_hook.executable, machine)
    box = ask(cdi_box(f"{KIND}=2", *GIVE), CDI, "exclusive")
    container = holding(box)
    assert leases.rows("gpus", "lease") == [("2", "exclusive")]
    refused_by("nvidia-devices", nv_box("2").run(), 4, "held exclusively by container")
    refused_by("cdi-devices", cdi_box(f"{KIND}=2", *GIVE).run(), 4, "held exclusively by container")
    container.end()
    assert leases.are_free()
    started(nv_box("2").run(SHOW))


@pytest.mark.parametrize("engine", [RUNC, CRUN, engines.PODMANS[1]], ids=str)
def test_a_gpu_that_looks_dead(cdi_box, machine, engine):
    machine.kill(EIGHT[1].address)
    for request in (f"{KIND}=1", f"{KIND}=0,{KIND}=all"):
        refused_by("cdi-devices", cdi_box(request, *GIVE, engine=engine).run(), 3, "the device 'nvidia.com/gpu=",
                   f"looks dead: nothing answers at {EIGHT[1].address} on the PCI bus")
    assert list(probed(started(cdi_box(f"{KIND}=0", *GIVE, engine=engine).run(SHOW)))) == [EIGHT[0].node]


def test_a_gpu_that_dies_in_the_meantime(cdi_box, nv_box, nv_hook, machine, holding):
    first = holding(ask(nv_box("1"), KEY, "exclusive"))
    second = Container(ask(cdi_box(f"{KIND}=1", *GIVE, "--max-wait", "20s"), CDI, "exclusive", "20s"), SHOW)
    leases = Leases(nv_hook.executable, machine)
    wait_until(lambda: len(leases.waiting()) == 1, "it does not wait", second.run.process)
    machine.kill(EIGHT[1].address)
    first.end()
    refused_by("cdi-devices", second.end(), 3, "looks dead")
    assert leases.are_free()


def test_what_a_container_has_already_counts(cdi_box, nv_hook, machine):
    """Also what another hook gave it."""
    for most, code in (("2", 0), ("1", 5)):
        box = cdi_box(f"{KIND}=2", "--give-gpus", "--allow", KIND, "--max-devices", most)
        box.annotations[KEY] = "0"
        box.first.append(nv_hook.entry(["--sysroot", machine]))
        result = box.run(SHOW)
        assert result.hook_status == code if code else result.code == 0, result


def test_a_gpu_that_two_hooks_give_counts_once_in_a_quota(cdi_box, nv_hook, machine):
    quota = ("--quota", "ci=1")
    for gpu in (0, 2):
        box = cdi_box(f"{KIND}={gpu}", *GIVE, *quota)
        box.annotations[KEY] = "0"
        box.first.append(nv_hook.entry(["--sysroot", machine, *quota]))
        result = box.run(SHOW)
        if gpu == 0:
            started(result)
        else:
            refused_by("cdi-devices", result, 4, "the quota 'policy:ci' allows 1 at once")


def test_it_waits_for_what_is_held(nv_box, cdi_box, holding):
    first = holding(ask(nv_box("1"), KEY, "exclusive"))
    second = Container(ask(cdi_box(f"{KIND}=1", *GIVE, "--max-wait", "20s"), CDI, "exclusive", "20s"), SHOW)
    first.end()
    assert EIGHT[1].node in second.ready().out
    second.end()


def test_instances_of_a_divided_gpu(cdi_by_hand, machine):
    """Each is a device of its own; without any, and with no more than a GPU instance, it is all that is in there."""
    for gpu_instance, compute_instance in ((1, 0), (2, 0), (2, 1)):
        machine.add_instance(0, gpu_instance, compute_instance)
    whole = "nvidia:" + EIGHT[0].address
    outer = [cap(gi_minor(EIGHT[0], instance)) for instance in (1, 2)]
    inner = [cap(gi_minor(EIGHT[0], instance) + 1 + compute) for instance, compute in ((1, 0), (2, 0), (2, 1))]
    node = EIGHT[0].node
    specify(machine, {"whole": edits(node), "a": edits(node, outer[0], inner[0]), "b": edits(node, outer[1], inner[2]),
                      "c": edits(node, outer[1]), "d": edits(outer[0], inner[0])}, "mig", "vendor.com/gpu")
    found = keys(cdi_by_hand)
    assert [found[f"vendor.com/gpu={name}"] for name in ("whole", "a", "b", "c", "d")] == \
        [whole, f"{whole}/1/0", f"{whole}/2/1", f"{whole}/2", f"{whole}/1/0"]


def test_rights_over_all_gpus_are_not_given(cdi_by_hand, machine):
    machine.add_instance(0, 1, 0)
    specify(machine, {"x": edits(cap(1))}, "mig", "vendor.com/gpu")
    error_of(cdi_by_hand("--plan", "--request", "vendor.com/gpu=x", *GIVE), 5, "nvidia-cap1'", "no instance's")


THING = {"path": "/dev/thing", "type": "c", "major": 10, "minor": 229}
CHANNELS = [{"path": f"/dev/nvidia-caps-imex-channels/channel{minor}", "type": "c", "major": IMEX, "minor": minor}
            for minor in range(3)]


@pytest.fixture
def beside(machine):
    """Devices that come with nodes which all devices of NVIDIA's driver have in common, and with others."""
    machine.devices(**{"nvidia-caps-imex-channels": IMEX})
    specify(machine, {"channel": edits(CHANNELS[0]), "channels": edits(*CHANNELS), "thing": edits(THING),
                      "both": edits(EIGHT[0].node, CHANNELS[0]), "gpu": edits(EIGHT[0].node, THING),
                      "none": edits("/dev/nvidia-uvm")}, "a", "vendor.com/gpu", of_all=("/dev/nvidiactl",))
    specify(machine, {"x": edits("/dev/nvidiactl"), "gpu": edits("/dev/nvidiactl", EIGHT[0].node),
                      "channel": edits(CHANNELS[1])}, "b", "other.com/gpu", of_all=("/dev/nvidia-uvm", THING))


@pytest.mark.usefixtures("beside")
def test_what_a_driver_has_in_common_hides_nothing(cdi_by_hand):
    """A channel is a device where no GPU is, which vendors' specifications give each all channels."""
    gpu, thing = f"nvidia:{EIGHT[0].address}", "char:10:229"
    channels = [f"char:{IMEX}:{minor}" for minor in range(3)]
    found = {name: each for name, each in keys(cdi_by_hand).items() if not name.startswith(KIND)}
    assert found == {
        "vendor.com/gpu=channel": channels[0], "vendor.com/gpu=channels": ",".join(channels),
        "vendor.com/gpu=thing": thing, "vendor.com/gpu=both": gpu, "vendor.com/gpu=gpu": gpu,
        "vendor.com/gpu=none": None,
        "other.com/gpu=x": thing, "other.com/gpu=gpu": gpu, "other.com/gpu=channel": channels[1]}
    some = ("--give-gpus", "--allow", f"{KIND},vendor.com/gpu", "--max-devices", "1")
    for names in ("channels", f"channel,{KIND}=0", f"thing,{KIND}=0"):
        error_of(cdi_by_hand("--plan", "--request", f"vendor.com/gpu={names}", *some), 5, "allows a container 1 device")
    assert len(planned(cdi_by_hand, f"vendor.com/gpu=none,{KIND}=0", *some)) == 4


@pytest.mark.parametrize("name, key", [("channel", f"char:{IMEX}:0"), ("thing", "char:10:229")])
@pytest.mark.usefixtures("beside")
def test_what_comes_with_the_drivers_nodes_is_held(cdi_box, holding, name, key):
    holding(ask(cdi_box(f"vendor.com/gpu={name}", *GIVE), CDI, "exclusive"))
    refused_by("cdi-devices", cdi_box(f"vendor.com/gpu={name}", *GIVE).run(), 4, "held exclusively by container", key)


@pytest.mark.parametrize("machine", [[]], indirect=True, ids=["no-gpus"])
def test_a_jetson(cdi_box, cdi_by_hand, machine, holding):
    """Its driver lists no GPU, and no other hook knows it: its nodes are given, and leased by their numbers."""
    for minor in (0, 1):
        machine.node(f"dev/nvidia{minor}", MAJOR, minor)
    specify(machine, {"0": edits("/dev/nvidia0"), "1": edits("/dev/nvidia1"), "same": edits("/dev/nvidia0")}, "tegra",
            "vendor.com/gpu", of_all=("/dev/nvidiactl",))
    assert keys(cdi_by_hand)["vendor.com/gpu=same"] == f"char:{MAJOR}:0"
    holding(ask(cdi_box("vendor.com/gpu=0"), CDI, "exclusive"))
    refused_by("cdi-devices", cdi_box("vendor.com/gpu=same").run(), 4, "'vendor.com/gpu=same'", f"char:{MAJOR}:0")
    assert list(probed(started(cdi_box("vendor.com/gpu=1").run(SHOW)))) == ["/dev/nvidia1"]


def test_a_driver_that_is_not_loaded(cdi_by_hand, cdi_host, machine):
    """What is none of its GPUs now is one of them later."""
    machine.unload()
    machine.devices(nvidia=None, nvidiactl=None, **{"nvidia-modeset": None, "nvidia-uvm": None, "nvidia-caps": None})
    specify(machine, OTHERS, "other", "vendor.com/gpu")
    error_of(cdi_by_hand("--plan", "--request", "vendor.com/gpu=by-number"), 5, "the hook nvidia-devices gives")
    error_of(cdi_by_hand("--plan", "--request", "vendor.com/gpu=by-number", *GIVE), 6, "/dev/thing", "be loaded yet")
