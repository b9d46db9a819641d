# SPDX-License-Identifier: Apache-2.0
"""Who gets which AMD GPU: what is asked by annotation, by the environment, by the host, what its policy makes of that,
and in which words it is refused. All of it by hand and with --plan: nothing is done."""

import hashlib

import pytest

from harness.amd_container import KEY, asked, error_of, nodes_for, nothing, on_host
from harness.gpu import nodes_of
from harness.source import tree
from hosts.amd import CPX, CPX_BLANKS, DRM, KFD, PHOENIX, RAPHAEL, XT, Gpu

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

ALL = f"this host has 0 ({XT.uuid}), 1 ({RAPHAEL.address})"


def test_a_plan_names_everything_and_changes_nothing(amd_plan, amd_machine):
    before, state = tree(amd_machine.path), amd_machine.state()
    edits = amd_plan("--request", "0")
    nodes = sorted(edits["containerEdits"]["deviceNodes"], key=lambda node: node["path"])
    numbers = [("/dev/dri/card2", DRM, 2), ("/dev/dri/renderD129", DRM, 129), ("/dev/kfd", KFD, 0)]
    assert nodes == [{"path": path, "hostPath": f"{amd_machine}{path}", "type": "c", "major": major, "minor": minor,
                      "fileMode": 0o666, "permissions": "rw"} for path, major, minor in numbers]
    assert sorted(edits["cgroup"]) == sorted(f"c {major}:{minor} rw" for _, major, minor in numbers)
    links = {link["path"].removeprefix("/dev/dri/by-path/"): link["target"] for link in edits["links"]}
    assert links == XT.links()
    assert edits["containerEdits"].get("mounts", []) == [] and edits.get("files", []) == []
    assert tree(amd_machine.path) == before and amd_machine.state() == state


CHOICES = {
    "all": [XT], "any:1": [XT], "0": [XT], "1": [RAPHAEL], " 0-1,1 ,0": [XT, RAPHAEL], "all,1": [XT, RAPHAEL],
    "03:00.0": [XT], "00000000:03:00.0": [XT], XT.uuid: [XT], XT.uuid.lower(): [XT], "0xbadc0de12345678": [XT],
    "0x0BADC0DE12345678": [XT], "renderD129": [XT], "card2": [XT], "card1": [RAPHAEL], "RENDERD128": [RAPHAEL],
    "0:0": [XT], "1:0": [RAPHAEL], "gfx1100": [XT], "gfx1036": [RAPHAEL], "dgpu": [XT], "igpu": [RAPHAEL],
    "dgpu,igpu": [XT, RAPHAEL], "all,igpu": [XT, RAPHAEL], "any:gfx1036:1": [RAPHAEL], "0,any:igpu:1": [XT, RAPHAEL]}


@pytest.mark.parametrize("value", CHOICES)
def test_selectors(amd_plan, value):
    assert nodes_of(amd_plan(**asked(value))) == nodes_for(*CHOICES[value])


@pytest.mark.parametrize("value, status, words", [
    ("2", 3, ["no GPU '2'", ALL]), ("0-2", 3, ["no GPU '2'", "'0-2'", ALL]), ("card0", 3, ["'card0'", ALL]),
    ("GPU-0000000000000000", 3, [ALL]), ("0x0", 3, [ALL]), ("GPU-XX", 3, [ALL]), ("0000:c2:00.0", 3, [ALL]),
    ("renderD130", 3, [ALL]), ("0:1", 3, ["'0:1'", ALL]), ("2:0", 3, [ALL]), ("gfx1101", 3, ["'gfx1101'", ALL]),
    ("any:3", 3, ["3 GPUs are asked for, and there "]), ("/dev/dri/card1", 3, []), ("", 2, ["empty"]), ("0,,1", 2, ["empty"]),
    ("any:0", 2, ["'any:0'"]), ("1-0", 2, ["'1-0'"]), ("none,0", 2, ["'none'"]), ("env,0", 2, ["'env'"]),
    ("any:gfx1101:1", 3, ["no GPU 'any:gfx1101:1'", ALL]), ("any:gfx1100:2", 3, ["2 GPUs are asked for of 'gfx1100', and there is 1: this host has"]),
    ("any:0:1", 2, ["names no group"]), ("0\x1b[31m", 2, []), ("01", 2, ["'01'"])])
def test_what_cannot_be_is_refused_in_words(amd_by_hand, value, status, words):
    assert "\x1b" not in error_of(amd_by_hand("--plan", **asked(value)), status, *words)


def test_all_leaves_the_integrated_one_out_and_says_so(amd_by_hand):
    """So does `any`; neither is an error."""
    process = amd_by_hand("--plan", "--log-level", "info", **asked("all"))
    [line] = [line for line in process.stderr.splitlines() if "left out" in line]
    assert RAPHAEL.address in line and "integrated" in line and "'igpu'" in line
    error_of(amd_by_hand("--plan", **asked("any:2")), 3,
             "2 GPUs are asked for, and there is 1 that 'any' and 'all' give: this host has ")


@on_host([PHOENIX, Gpu("0000:65:00.0", 2, 129, 110501)])
def test_without_another_one_integrated_ones_are_all(amd_plan, amd_by_hand, amd_machine):
    assert nodes_of(amd_plan("--request", "all")) == nodes_for(*amd_machine.gpus)
    assert nodes_of(amd_plan("--request", "any:1")) == nodes_for(PHOENIX)
    error_of(amd_by_hand("--plan", "--request", "dgpu"), 3, "'dgpu'")


@on_host(CPX, blanks=CPX_BLANKS)
def test_selectors_of_partitions(amd_plan, amd_by_hand):
    """An address and, with DRM, an id may mean all partitions of a GPU. Indices go by address, and then by minor."""
    for value, gpus in [("0:3", CPX[3:4]), ("7:7", CPX[63:]), ("9", CPX[9:10]), ("0000:2b:00.0", CPX[8:16]),
                        ("0001:1b:00.0", CPX[32:40]), ("1:0,1:1", CPX[8:10]), ("renderD138", CPX[9:10]),
                        ("GPU-7E57000000000A11", CPX[9:10]), ("GPU-7E57000000000A10", CPX[8:16]), ("card11", CPX[9:10]),
                        ("gfx942", CPX), ("any:9", CPX[:9]), ("any:gfx942:9", CPX[:9]), ("62-63", CPX[62:])]:
        assert nodes_of(amd_plan("--request", value)) == nodes_for(*gpus), value
    for value in ("0:8", "8:0", "renderD136", "64", "amdgpu_xcp_7", "0x7e57000000000a08"):
        error_of(amd_by_hand("--plan", "--request", value), 3, f"'{value}'")


@pytest.mark.parametrize("options, value, outcome", [
    (("--allow", "0"), "all", [XT]), (("--allow", "dgpu"), "1", 5), (("--allow", "igpu"), "igpu", [RAPHAEL]),
    (("--allow", "igpu"), "any:1", 5), (("--allow", "igpu"), "any:dgpu:1", 5),
    (("--allow", XT.uuid), "0", [XT]), (("--allow", "card1"), "0", 5),
    (("--allow", "none"), "0", 2), (("--allow", "99"), "0", 5), (("--allow", "any:1"), "0", 2),
    (("--max-devices", "1"), "0-1", 5), (("--max-devices", "1"), "dgpu,igpu", [XT]), (("--max-devices", "0"), "0", 5),
    (("--max-devices", "0"), "all", 5), (("--max-devices", "0"), "none", []), (("--max-devices", "-1"), "0", 2),
    (("--no-such-option",), "0", 2)])
def test_the_policy_of_the_host(amd_plan, amd_by_hand, options, value, outcome):
    if isinstance(outcome, int):
        error_of(amd_by_hand("--plan", *options, **asked(value)), outcome)
    elif outcome:
        assert nodes_of(amd_plan(*options, **asked(value))) == nodes_for(*outcome)
    else:
        nothing(amd_by_hand("--plan", *options, **asked(value)))


@pytest.mark.parametrize("env, outcome", [
    (["AMD_VISIBLE_DEVICES=all"], [XT]), (["AMD_VISIBLE_DEVICES=ALL"], [XT]),
    (["AMD_VISIBLE_DEVICES=0, 1"], [XT, RAPHAEL]), (["AMD_VISIBLE_DEVICES=0-1"], [XT, RAPHAEL]),
    (["AMD_VISIBLE_DEVICES=0x0badc0de12345678"], [XT]), (["AMD_VISIBLE_DEVICES=0BADC0DE12345678"], [XT]),
    (["AMD_VISIBLE_DEVICES=1", "DOCKER_RESOURCE_AMD_GPU=0"], [XT]),
    (["DOCKER_RESOURCE_AMD_GPU=0", "AMD_VISIBLE_DEVICES=1"], [RAPHAEL]), (["AMD_VISIBLE_DEVICES=0,99"], 3),
    (["AMD_VISIBLE_DEVICES=1-0"], 2), (["AMD_VISIBLE_DEVICES=any:1"], 2), (["AMD_VISIBLE_DEVICES=none"], None),
    (["AMD_VISIBLE_DEVICES="], None), (["AMD_VISIBLE_DEVICES=void"], None),
    (["ROCR_VISIBLE_DEVICES=0", "NVIDIA_VISIBLE_DEVICES=all"], None)])
def test_the_selector_env(amd_plan, amd_by_hand, env, outcome):
    config = asked("env", env=env)
    if outcome is None:
        nothing(amd_by_hand("--plan", **config))
    elif isinstance(outcome, int):
        error_of(amd_by_hand("--plan", **config), outcome)
    else:
        assert nodes_of(amd_plan(**config)) == nodes_for(*outcome)


def test_who_may_ask(amd_plan, amd_by_hand):
    """The container's environment alone never; the host without a say of the container; in a pod, each for itself."""
    env = ["AMD_VISIBLE_DEVICES=all", "OCI_GPU_HOOKS_AMD_KFD=1"]
    nothing(amd_by_hand("--plan", **asked(env=env)))
    assert nodes_of(amd_plan("--opt-in", "environment", **asked(env=env))) == nodes_for(RAPHAEL)
    assert nodes_of(amd_plan("--request", "0", **asked("1", env=env))) == nodes_for(XT)
    pod = {"io.kubernetes.cri.container-name": "web", KEY: "all", f"{KEY}/web": "1", f"{KEY}/other": "x"}
    assert nodes_of(amd_plan(annotations=pod)) == nodes_for(RAPHAEL)
    error_of(amd_by_hand("--plan", "--request", "env"), 2, "'env'")


@pytest.mark.parametrize("key", ["amd-kfds", "amd-kfd.capabilities"])
def test_a_misspelt_key_is_an_error(amd_by_hand, key):
    error_of(amd_by_hand("--plan", **asked(**{KEY.replace("amd-kfd", key): "all"})), 2, key)


def test_there_are_no_capabilities(amd_plan, amd_by_hand, scratch):
    """A line of the key file that limits those of another hook's limits nothing here."""
    for option in ("--capabilities", "--allow-capabilities"):
        error_of(amd_by_hand("--plan", "--request", "0", option, "none"), 2, option)
    keys = scratch / "keys"
    keys.write_text(f"{hashlib.sha256(b'secret').hexdigest()} ci --allow-capabilities compute\n", encoding="ascii")
    keys.chmod(0o600)
    env = ["OCI_GPU_HOOKS_KEY=secret", "OCI_GPU_HOOKS_AMD_KFD=0"]
    assert nodes_of(amd_plan("--opt-in", "environment", "--key-file", keys, process={"env": env})) == nodes_for(XT)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_need_no_container(amd_by_hand, option):
    process = amd_by_hand(option)
    assert process.returncode == 0 and "amd-kfd" in process.stdout and process.stderr == ""
