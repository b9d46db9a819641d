# SPDX-License-Identifier: Apache-2.0
"""The selector `env`, requests by the host and by a container's environment, and --list; by hand, and with
--plan."""

import hashlib
import json
import subprocess

import pytest

from harness.gpu import nodes_of
from harness.nvidia_container import (CAPABILITIES, CHANNELS, KEY, UVM_NODES, asked, error_of, gpus_of, nothing)
from hosts.nvidia import EIGHT, IMEX

pytest_plugins = ["harness.nvidia_fixtures"]


@pytest.mark.parametrize("env, outcome", [
    (["NVIDIA_VISIBLE_DEVICES=all"], range(8)), (["NVIDIA_VISIBLE_DEVICES=7, 0"], [0, 7]),
    ([f"NVIDIA_VISIBLE_DEVICES={EIGHT[4].uuid}"], [4]), (["NVIDIA_VISIBLE_DEVICES=none"], []),
    (["NVIDIA_VISIBLE_DEVICES=7,99"], 3), (["NVIDIA_VISIBLE_DEVICES=any:0"], 2),
    (["CUDA_VERSION=7.5"], range(8)),
    ([], None), (["NVIDIA_VISIBLE_DEVICES="], None), (["NVIDIA_VISIBLE_DEVICES=void"], None)])
def test_the_selector_env(plan, by_hand, env, outcome):
    if outcome is None:
        nothing(by_hand("--plan", **asked("env", env=env)))
    elif isinstance(outcome, int):
        error_of(by_hand("--plan", **asked("env", env=env)), outcome)
    else:
        assert gpus_of(plan(**asked("env", env=env))) == list(outcome)


@pytest.mark.parametrize("env, annotation, brings", [
    (["NVIDIA_DRIVER_CAPABILITIES=utility"], None, []), ([], None, UVM_NODES),
    (["NVIDIA_DRIVER_CAPABILITIES="], None, UVM_NODES),
    (["NVIDIA_DRIVER_CAPABILITIES=graphics,utility"], None, ["/dev/dri/card3", "/dev/dri/renderD130"]),
    (["NVIDIA_DRIVER_CAPABILITIES=graphics"], "utility", []),
    (["NVIDIA_DRIVER_CAPABILITIES=utility", "NVIDIA_GDRCOPY=enabled"], None, ["/dev/gdrdrv"]),
    (["NVIDIA_DRIVER_CAPABILITIES=utility", "NVIDIA_GDRCOPY=disabled"], None, []),
    (["NVIDIA_DRIVER_CAPABILITIES=gdrcopy"], None, 2), (["NVIDIA_DRIVER_CAPABILITIES=nonsense"], None, 2)])
def test_the_environments_capabilities_count_with_env_alone(plan, by_hand, machine, env, annotation, brings):
    """Unless an annotation says them."""
    machine.add_others()
    config = asked("env", annotation, ["NVIDIA_VISIBLE_DEVICES=0", *env])
    if isinstance(brings, int):
        error_of(by_hand("--plan", **config), brings, "NVIDIA_DRIVER_CAPABILITIES")
    else:
        assert nodes_of(plan(**config)) == sorted([EIGHT[0].node, "/dev/nvidiactl", *brings])


def test_what_else_is_asked_of_nvidias_tools_is_not_passed_over(by_hand):
    """With `env`: GPUs as mounts are errors, and so is a driver that is too old."""
    mount = {"destination": "/var/run/nvidia-container-devices/0", "type": "bind", "source": "/dev/null"}
    visible = "NVIDIA_VISIBLE_DEVICES=0"
    for env in ([], [visible], ["NVIDIA_VISIBLE_DEVICES=void"]):
        error_of(by_hand("--plan", **asked("env", env=env), mounts=[mount]), 2, mount["destination"])
    required = [visible, "NVIDIA_REQUIRE_CUDA=cuda>=12.6"]
    error_of(by_hand("--plan", **asked("env", env=required)), 3, "'cuda>=12.6'", "'NVIDIA_REQUIRE_CUDA'",
             "this host has driver 555.42.07, cuda 12.5;")
    for term, is_told in (("arch>=9", True), ("oops", True), ("brand=tesla", False)):
        process = by_hand("--plan", **asked("env", env=[visible, f"NVIDIA_REQUIRE_X={term}"]))
        assert process.returncode == 0 and ("cannot be told" in process.stderr) is is_told
    for config in (asked("0", env=[*required, "NVIDIA_IMEX_CHANNELS=0"]),
                   asked("env", env=[*required, "NVIDIA_DISABLE_REQUIRE=true"]),
                   asked("env", env=["NVIDIA_VISIBLE_DEVICES=none", *required[1:]])):
        process = by_hand("--plan", **config)
        assert process.returncode == 0 and process.stderr == ""


@pytest.mark.parametrize("options, value, env, outcome", [
    (["--allow-imex", "0-3"], "3,0-1,1", None, [0, 1, 3]), (["--allow-imex", "all"], "7", None, [7]),
    ([], "0", None, 5), (["--allow-imex", "0-3"], "4", None, 5), (["--allow-imex", "all"], "8", None, 3),
    (["--allow-imex", "all"], "0-256", None, 2), (["--allow-imex", "all"], "1048576", None, 2),
    (["--allow-imex", "x"], "0", None, 2), (["--allow-imex", "all"], None, "0,,2", [0, 2]),
    (["--allow-imex", "all"], None, "all", []), (["--allow-imex", "all"], "1", "2", [1]), ([], None, "0", 5)])
def test_imex_channels_are_given_within_the_policy(plan, by_hand, machine, options, value, env, outcome):
    """By annotation; with `env` also by the environment, which the annotation wins over."""
    machine.add_imex(8)
    config = asked("0" if env is None else "env", env=["NVIDIA_VISIBLE_DEVICES=0", f"NVIDIA_IMEX_CHANNELS={env or 5}"],
                   **({} if value is None else {CHANNELS: value}))
    if isinstance(outcome, int):
        error_of(by_hand("--plan", *options, **config), outcome)
    else:
        edits = plan(*options, **config)
        directory = "/dev/nvidia-caps-imex-channels/channel"
        assert [path for path in nodes_of(edits) if "imex" in path] == [f"{directory}{channel}" for channel in outcome]
        assert {f"c {IMEX}:{channel} rw" for channel in outcome} <= {*edits["cgroup"]}


def test_imex_channels_of_this_host(by_hand, plan, machine):
    """--list says how many there are, and which may be asked for; a container without a GPU gets none."""
    error_of(by_hand("--plan", "--allow-imex", "all", **asked("0", **{CHANNELS: "0"})), 3, "no IMEX channels")
    machine.add_imex(8)
    by_host = plan("--request", "0", "--allow-imex", "4-7", **asked("1", **{CHANNELS: "7"}))
    assert not [path for path in nodes_of(by_host) if "imex" in path]
    assert "\nimex:    0-7, allowed: none\n" in by_hand("--list").stdout
    listed = json.loads(by_hand("--list=json", "--allow-imex", "0-3").stdout)
    assert listed["imex"] == "0-7, allowed: 0-3"
    assert nodes_of(plan(**asked("none", **{CHANNELS: "0"}))) == []


def test_without_the_selector_env_the_environment_does_not_count(plan):
    config = asked("0", env=["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=all",
                             "NVIDIA_GDS=enabled"])
    assert nodes_of(plan(**config)) == sorted([EIGHT[0].node, "/dev/nvidiactl", *UVM_NODES])


def test_a_request_by_the_host_leaves_the_container_no_say(plan):
    """With `always` the host asks for what a container may add to."""
    config = asked("all", "display", ["OCI_GPU_HOOKS_NVIDIA_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=all"])
    assert nodes_of(plan("--request", "2", **config)) == sorted([EIGHT[2].node, "/dev/nvidiactl", *UVM_NODES])
    config = asked(capabilities="utility,display")
    assert "/dev/nvidia-modeset" in nodes_of(plan("--opt-in", "always", "--request", "2", **config))


def test_a_request_by_the_containers_environment(plan, by_hand):
    env = ["OCI_GPU_HOOKS_NVIDIA_DEVICES=3", "OCI_GPU_HOOKS_NVIDIA_DEVICES_CAPABILITIES=utility"]
    nothing(by_hand("--plan", **asked(env=env)))
    edits = plan("--opt-in", "environment", **asked(env=env))
    assert nodes_of(edits) == sorted([EIGHT[3].node, "/dev/nvidiactl"])


def test_in_a_pod_the_container_of_the_name_alone(plan):
    annotations = {"io.kubernetes.cri.container-name": "web", KEY: "all", f"{KEY}/web": "4",
                   f"{CAPABILITIES}/web": "utility", f"{CAPABILITIES}/other": "nonsense"}
    assert nodes_of(plan(annotations=annotations)) == sorted([EIGHT[4].node, "/dev/nvidiactl"])


def test_list(by_hand, machine):
    """Each GPU with what it takes to ask for it, and why it cannot be given."""
    machine.exclude(1)
    machine.information(2, None)
    process = by_hand("--list", "--allow", f"0-3,{EIGHT[1].address}")
    assert process.returncode == 0, process.stderr
    driver, head, *rows = process.stdout.splitlines()
    assert driver == "driver:  555.42.07"
    assert head.split() == ["INDEX", "ADDRESS", "UUID", "MODEL", "NODE", "LEASE", "STATE"]
    assert [gpu.address in row for gpu, row in zip(EIGHT, rows, strict=True)] == [True] * 8
    assert rows[0].split()[0] == "0" and rows[7].split()[0] == "6"
    for gpu, row in zip(EIGHT, rows):
        assert (gpu.uuid in row and gpu.node in row) or gpu in EIGHT[1:3]
    assert "exclude" in rows[1] and "no information" in rows[2]
    assert ["not allowed" in row for row in rows] == [False] * 5 + [True] * 3
    assert "NVIDIA Example 48" in rows[0]


def test_list_for_programs(by_hand, machine):
    machine.exclude(1)
    document = json.loads(by_hand("--list=json").stdout)
    assert document["driver"] == "555.42.07"
    first, second, *_ = document["gpus"]
    assert first == {"index": 0, "address": EIGHT[0].address, "uuid": EIGHT[0].uuid, "model": "NVIDIA Example 48",
                     "node": EIGHT[0].node, "lease": "free", "state": ""}
    assert document["leases"] == []
    assert second["index"] is None and "exclude" in second["state"]


@pytest.mark.parametrize("machine", [[]], indirect=True, ids=["none"])
def test_a_driver_without_a_gpu_has_no_list(by_hand):
    error_of(by_hand("--list"), 3, "this host has no NVIDIA GPU")


def test_capabilities_beside_a_request_by_the_host(plan, by_hand):
    nodes = [EIGHT[2].node, "/dev/nvidiactl"]
    assert nodes_of(plan("--request", "2", "--capabilities", "utility")) == sorted(nodes)
    for value in ("graphics,utility", "all"):
        assert "/dev/dri/card3" in nodes_of(plan("--request", "0", "--capabilities", value))
    config = asked("all", "display")
    assert nodes_of(plan("--request", "2", "--capabilities", "utility", **config)) == sorted(nodes)
    error_of(by_hand("--plan", "--request", "2", "--capabilities", "odd"), 2, "'--capabilities'", "'odd'")
    error_of(by_hand("--capabilities", "utility", **asked("0")), 2, "--capabilities needs --request")


def test_capabilities_of_a_host_that_asks_for_every_container(plan):
    """A container that names its own gets these, and one that chooses its GPUs the default."""
    always = ["--opt-in", "always", "--request", "2", "--capabilities", "utility"]
    nodes = [EIGHT[2].node, "/dev/nvidiactl"]
    assert nodes_of(plan(*always, **asked())) == sorted(nodes)
    assert nodes_of(plan(*always, **asked(capabilities="compute"))) == sorted(nodes + UVM_NODES)
    assert nodes_of(plan(*always, **asked("2"))) == sorted(nodes + UVM_NODES)


def test_capabilities_that_the_host_does_not_hand_out(plan, by_hand, machine):
    machine.add_others()
    allowed = ["--allow-capabilities", "utility, compute,gdrcopy"]
    for config in (asked("0", "graphics"), asked("0", "utility,display"), asked("0", "mofed"),
                   asked("env", env=["NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DRIVER_CAPABILITIES=video"])):
        error_of(by_hand("--plan", *allowed, **config), 5, "--allow-capabilities",
                 "it allows 'compute', 'utility', 'gdrcopy'")
    error_of(by_hand("--plan", "--allow-capabilities", "graphics", **asked("0")), 5, "'compute'")
    nodes = [EIGHT[0].node, "/dev/nvidiactl", *UVM_NODES]
    assert nodes_of(plan(*allowed, **asked("0"))) == sorted(nodes)
    assert nodes_of(plan(*allowed, **asked("0", "all"))) == sorted(nodes)
    assert nodes_of(plan(*allowed, **asked("0", "all,gdrcopy"))) == sorted([*nodes, "/dev/gdrdrv"])
    assert nodes_of(plan("--allow-capabilities", "none", **asked("none"))) == []
    error_of(by_hand("--plan", "--allow-capabilities", "odd", **asked("0")), 2, "'--allow-capabilities'")


def test_a_key_has_a_limit_for_capabilities_of_its_own(plan, by_hand, scratch):
    """Within that of the host; an annotation, which takes no key, is free of it."""
    keys = scratch / "keys"
    digest = hashlib.sha256(b"secret").hexdigest()
    keys.write_text(f"{digest} nightly --allow-capabilities compute,video\n", encoding="ascii")
    keys.chmod(0o600)
    options = ["--opt-in", "environment", "--key-file", keys]

    def by_key(capabilities):
        return {"process": {"env": ["OCI_GPU_HOOKS_KEY=secret", "OCI_GPU_HOOKS_NVIDIA_DEVICES=0",
                                    f"OCI_GPU_HOOKS_NVIDIA_DEVICES_CAPABILITIES={capabilities}"]}}

    nodes = [EIGHT[0].node, "/dev/nvidiactl", *UVM_NODES]
    assert nodes_of(plan(*options, **by_key("compute"))) == sorted(nodes)
    assert nodes_of(plan(*options, **asked("0", "utility"))) == [EIGHT[0].node, "/dev/nvidiactl"]
    error_of(by_hand("--plan", *options, **by_key("utility")), 5, "no capability 'utility'", "'compute', 'video'")
    narrow = [*options, "--allow-capabilities", "video"]
    error_of(by_hand("--plan", *narrow, **by_key("compute")), 5, "no capability 'compute'")
    assert nodes_of(plan(*narrow, **by_key("all"))) == sorted(nodes)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_need_no_container(by_hand, option):
    process = by_hand(option)
    assert process.returncode == 0 and "nvidia-devices" in process.stdout and process.stderr == ""


def test_a_list_in_a_rootless_engines_namespace_has_the_gpus(by_hand, machine, nv_hook):
    """Who has them cannot be told there: the directory's owner is not known to be root."""
    assert by_hand("--drain", "0").returncode == 0
    command = ["unshare", "--user", "--map-user=5", nv_hook.executable, "--sysroot", machine, "--list"]
    process = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
    assert process.returncode == 0 and EIGHT[0].uuid in process.stdout and "LEASE" not in process.stdout, process
    assert "who has which GPU is not shown: " in process.stderr
