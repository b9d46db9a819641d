# SPDX-License-Identifier: Apache-2.0
"""Who gets which GPU: what is asked by annotation, by the environment, by the host, what its policy and its
state make of that, and in which words it is refused. All of it by hand and with --plan: nothing is done."""

import pytest

from harness.box import PREFIX
from harness.gpu import nodes_of
from harness.nvidia_container import UVM_NODES, asked, error_of, gpus_of, nothing
from harness.source import tree
from hosts.driver import POINT
from hosts.nvidia import EIGHT, MAJOR, ONE, OPEN, UVM

pytest_plugins = ["harness.nvidia_fixtures"]

ALL = "; this host has " + ", ".join(f"{n} ({gpu.uuid})" for n, gpu in enumerate(EIGHT))


def test_a_plan_names_everything_and_changes_nothing(plan, machine):
    before = tree(machine.path)
    edits = plan("--request", "1")
    gpu = EIGHT[1]
    expected = [("/dev/nvidia-uvm", UVM, 0), ("/dev/nvidia-uvm-tools", UVM, 1), (gpu.node, MAJOR, 2),
                ("/dev/nvidiactl", MAJOR, 255)]
    nodes = sorted(edits["containerEdits"]["deviceNodes"], key=lambda node: node["path"])
    assert nodes == [{"path": path, "hostPath": f"{machine}{path}", "type": "c", "major": major,
                      "minor": minor, "fileMode": 0o666, "permissions": "rw"}
                     for path, major, minor in expected]
    assert sorted(edits["cgroup"]) == sorted(f"c {major}:{minor} rw" for _, major, minor in expected)
    libraries = {f"{POINT}/lib64/{name}.so{end}" for name in ("libcuda", "libnvidia-ml") for end in ("", ".1")}
    assert {link["path"] for link in edits["links"]} == libraries
    files = {file["path"]: file.get("content", "") for file in edits["files"]}
    assert set(files) == {*(f"/proc/driver/nvidia/{name}" for name in ("version", "params", "registry")),
                          *(f"{POINT}/.oci-gpu-hooks/{name}" for name in ("ld-directories", "nvidia-devices"))}
    assert "ModifyDeviceFiles: 0\n" in files["/proc/driver/nvidia/params"]
    directory = f"/proc/driver/nvidia/gpus/{gpu.address}"
    mounts = {mount["containerPath"]: mount for mount in edits["containerEdits"]["mounts"]}
    assert mounts[directory]["hostPath"] == f"{machine}{directory}" and "ro" in mounts[directory]["options"]
    library = "libcuda.so.555.42.07"
    assert mounts[f"{POINT}/lib64/{library}"]["hostPath"] == f"{machine}/usr/lib64/{library}"
    assert not [path for path in mounts if "/gpus/" in path and path != directory]
    assert tree(machine.path) == before


@pytest.mark.parametrize("value, places", [
    ("all", range(8)), ("0", [0]), ("0-2, 7,1", [0, 1, 2, 7]), (EIGHT[5].uuid.lower(), [5]),
    (f"{EIGHT[3].uuid},{EIGHT[2].address}", [2, 3]), ("00000000:BD:00.0", [7]), ("b7:00.0", [6]),
    ("any:2", [0, 1]), ("any:1,0", [0, 1]), ("none", [])])
def test_selectors(plan, value, places):
    edits = plan(**asked(value))
    assert gpus_of(edits) == list(places)
    assert nodes_of(edits) == sorted([EIGHT[n].node for n in places] + (
        ["/dev/nvidiactl", *UVM_NODES] if places else []))
    assert edits["files"] != []


@pytest.mark.parametrize("machine", [ONE], indirect=True, ids=["one"])
def test_a_host_with_one_gpu(plan, by_hand):
    for value in ("all", "any:1", "0", ONE[0].uuid, ONE[0].address):
        assert nodes_of(plan(**asked(value))) == sorted([ONE[0].node, "/dev/nvidiactl", *UVM_NODES])
    error_of(by_hand("--plan", **asked("1")), 3, f"no GPU '1': this host has 0 ({ONE[0].uuid})")


@pytest.mark.parametrize("value, status, words", [
    ("8", 3, ["no GPU '8'", ALL[2:]]), ("5-9", 3, ["no GPU '8'", "'5-9'", ALL[2:]]),
    ("GPU-00000000-1111-4222-8333-012345678902", 3, ["no GPU 'GPU-00000000", ALL[2:]]),
    ("0000:ff:00.0", 3, ["'0000:ff:00.0'"]), ("any:9", 3, ["9 GPUs are asked for, and there are 8: this host has "]),
    ("nvidia2", 3, ["'nvidia2'"]), ("/dev/nvidia2", 3, ["'/dev/nvidia2'"]),
    ("", 2, ["empty"]), ("0,,1", 2, ["empty"]), ("any:0", 2, ["'any:0'"]), ("3-1", 2, ["'3-1'"]),
    ("none,0", 2, ["'none'"]), ("env,0", 2, ["'env'"]), ("0\x1b[31m", 2, []), ("01", 2, ["'01'"])])
def test_what_cannot_be_is_refused_in_words(by_hand, value, status, words):
    message = error_of(by_hand("--plan", **asked(value)), status, *words)
    assert "\x1b" not in message


@pytest.mark.parametrize("options, value, outcome", [
    (("--allow", "0-3"), "all", [0, 1, 2, 3]), (("--allow", "0-3"), "3,5", 5), (("--allow", "7"), "any:2", 5),
    (("--allow", EIGHT[7].uuid), "all", [7]), (("--allow", "none"), "0", 2), (("--allow", "99"), "0", 5),
    (("--max-devices", "2"), "all", [0, 1]), (("--max-devices", "2"), "0-2", 5),
    (("--max-devices", "2", "--allow", "4-7"), "all", [4, 5]), (("--max-devices", "0"), "0", 5),
    (("--max-devices", "0"), "all", 5), (("--max-devices", "0"), "none", []),
    (("--max-devices", "-1"), "0", 2), (("--max-devices", "many"), "0", 2), (("--no-such-option",), "0", 2)])
def test_the_policy_of_the_host(plan, by_hand, options, value, outcome):
    if isinstance(outcome, int):
        error_of(by_hand("--plan", *options, **asked(value)), outcome)
    else:
        assert gpus_of(plan(*options, **asked(value))) == outcome


@pytest.mark.parametrize("capabilities, more", [
    ("utility", None), ("compute", []), (" video ,video", []), ("display", ["modeset", "dri"]),
    ("graphics", ["dri"]), ("compute,graphics", ["dri"]), ("ngx", None),
    ("all", ["modeset", "dri"]), ("all,gdrcopy", ["modeset", "dri", "gdrdrv"])])
def test_capabilities(plan, machine, capabilities, more):
    """`more`: what they bring besides; UVM only with compute, video or all of them."""
    machine.add_others()
    seen = nodes_of(plan(**asked("0", capabilities)))
    expected = [EIGHT[0].node, "/dev/nvidiactl"]
    if more is not None and capabilities not in ("display", "graphics"):
        expected += UVM_NODES
    for word in more or []:
        expected += {"modeset": ["/dev/nvidia-modeset"], "dri": ["/dev/dri/card3", "/dev/dri/renderD130"],
                     "gdrdrv": ["/dev/gdrdrv"]}[word]
    assert seen == sorted(expected)


@pytest.mark.parametrize("capabilities", ["imex", "compute,imex", "Compute", "", "compute,,utility", "none"])
def test_capabilities_that_there_are_not(by_hand, capabilities):
    error_of(by_hand("--plan", **asked("0", capabilities)), 2,
             *(["'gdrcopy'", "'compat32'", "'all'"] if capabilities else ["empty"]))


@pytest.mark.parametrize("module, capability", [
    ("nvidia-uvm", "compute"), ("nvidia-uvm", "video"), ("gdrdrv", "gdrcopy")])
def test_a_module_that_is_not_loaded_is_named(plan, by_hand, machine, module, capability):
    """Names are compared whole: many are the beginning of another."""
    machine.add_others()
    machine.devices(**{module: None, module + "-tools": 499})
    error_of(by_hand("--plan", **asked("0", capability)), 6, f"modprobe {module}")
    assert gpus_of(plan(**asked("0", "utility"))) == [0]


@pytest.mark.parametrize("profile", ["closed", "open", "old"])
def test_drivers(plan, machine, profile):
    if profile == "open":
        machine.write("proc/driver/nvidia/version", OPEN)
        machine.install("601.10.03")
    if profile == "old":
        machine.old()
    edits = plan("--request", "all")
    assert gpus_of(edits) == list(range(8))
    [version] = [file["content"] for file in edits["files"] if file["path"].endswith("/version")]
    assert version == (machine.path / "proc/driver/nvidia/version").read_text()


def test_an_excluded_gpu_is_not_counted_and_not_given(plan, by_hand, machine):
    machine.exclude(0)
    assert gpus_of(plan("--request", "0")) == [1] and gpus_of(plan("--request", "all")) == [*range(1, 8)]
    error_of(by_hand("--plan", "--request", EIGHT[0].uuid), 3, "exclude")


@pytest.mark.parametrize("information", [None, "", EIGHT[0].information().replace("Device Minor", "Other")])
def test_an_unreadable_gpu_is_named_and_not_given(by_hand, plan, machine, information):
    machine.information(0, information)
    for value, places in (("all", [*range(1, 8)]), ("any:1", [1])):
        assert gpus_of(plan("--request", value)) == places
    assert EIGHT[0].address in by_hand("--plan", "--request", "all").stderr
    error_of(by_hand("--plan", "--request", "0"), 6, EIGHT[0].address)


def test_a_host_without_a_driver(by_hand, machine):
    """The container would run without what it asked for; where the host asks for all of them, it may."""
    machine.unload()
    words = "this host has no NVIDIA driver (no /proc/driver/nvidia/version)"
    for options, config in [((), asked("0")), ((), asked("all")), (("--request", "0"), {}),
                            (("--opt-in", "environment"), asked(env=["OCI_GPU_HOOKS_NVIDIA_DEVICES=all"])),
                            ((), asked("env", env=["NVIDIA_VISIBLE_DEVICES=all"]))]:
        error_of(by_hand("--plan", *options, **config), 3, words)
    error_of(by_hand("--list"), 3, "no NVIDIA driver")
    for options, config in [(("--opt-in", "always", "--request", "all"), asked()), ((), asked("none"))]:
        nothing(by_hand("--plan", *options, **config))


def test_a_cuda_image_alone_gets_nothing(by_hand, machine):
    """Neither by its own environment (E10), nor by keys of others; with or without a driver."""
    env = ["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=all", "NVIDIA_REQUIRE_CUDA=cuda>=12",
           "CUDA_VERSION=12.4.1", "OCI_GPU_HOOKS_NVIDIA_DEVICES=all"]
    other = {PREFIX + "mount-srv": "all"}
    for config in (asked(env=env), asked(env=env, **other), asked(env=env, capabilities="compute")):
        nothing(by_hand("--plan", **config))
    nothing(by_hand("--plan", "--opt-in", "environment", **asked(env=env[:4])))
    machine.unload()
    nothing(by_hand("--plan", **asked(env=env)))


@pytest.mark.parametrize("key", [PREFIX + "nvidia-device", PREFIX + "nvidia-devices.capability"])
def test_a_misspelt_key_is_an_error(by_hand, key):
    error_of(by_hand("--plan", **asked(**{key: "all"})), 2, key)
