# SPDX-License-Identifier: Apache-2.0
"""Hosts with AMD GPUs of many kinds, and such without: what --list and --plan make of them. Also what a device cgroup
keeps from the hook itself, and what an engine without root cannot do."""

import pytest

from harness.amd_container import asked, error_of, nodes_for, nothing, on_host, rows_of
from harness.gpu import nodes_of
from hosts.amd import CPX, CPX_BLANKS, GIB, MI210, OLD, PHOENIX, RAPHAEL, SPX, TPX, XT, Gpu

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

COLUMNS = ["INDEX", "ADDRESS", "RENDER", "CARD", "GFX", "TYPE", "VRAM", "ID", "HINT", "LEASE", "STATE"]
STRIX = [Gpu(f"0000:{bus}:00.0", bus, 128 + bus, gfx, simd=24, vram=GIB)
         for bus, gfx in ((10, 110500), (11, 110501), (12, 90012), (13, 100304), (14, 100301), (15, 100300))]
TWIN = Gpu("0000:1d:00.0", 3, 131, 110000)
ROOTLESS = ("unshare", "--user", "--map-root-user")


def test_list(amd_by_hand):
    """Each GPU with what it takes to ask for it, what may help it, and why it cannot be given."""
    rows = rows_of(amd_by_hand("--list", "--allow", "igpu"))
    assert list(rows[0]) == COLUMNS
    assert [list(row.values()) for row in rows] == [
        ["0", XT.address, "renderD129", "card2", "gfx1100", "discrete", "20480 MiB", XT.uuid, "-", "free",
         "not allowed"],
        ["1", RAPHAEL.address, "renderD128", "card1", "gfx1036", "integrated", "512 MiB", "-",
         "HSA_OVERRIDE_GFX_VERSION=10.3.0", "free", ""]]


@on_host(STRIX)
def test_hints(amd_by_hand):
    """Where a value is known that helps; once in the log for each version; not where the container has one."""
    rows = rows_of(amd_by_hand("--list"))
    assert [(row["GFX"], row["HINT"].removeprefix("HSA_OVERRIDE_GFX_VERSION=")) for row in rows] == [
        ("gfx1150", "11.5.1"), ("gfx1151", "-"), ("gfx90c", "-"), ("gfx1034", "10.3.0"), ("gfx1031", "10.3.0"),
        ("gfx1030", "-")]
    for env, count in [(["OTHER=1"], 3), (["HSA_OVERRIDE_GFX_VERSION="], 0), (["HSA_OVERRIDE_GFX_VERSION_1=9.0.0"], 0),
                       (["HSA_OVERRIDE_GFX_VERSIONS=1", "X=HSA_OVERRIDE_GFX_VERSION"], 3)]:
        process = amd_by_hand("--plan", "--log-level", "info", **asked("0-5", env=env))
        assert process.stderr.count("HSA_OVERRIDE") == count and process.returncode == 0, process.stderr
    assert "HSA_OVERRIDE" not in amd_by_hand("--plan", "--log-level", "info", "--request", "1,2,5").stderr


@on_host(CPX, blanks=CPX_BLANKS)
def test_mi300x_of_64_partitions_with_gaps_in_two_domains(amd_by_hand, amd_plan):
    rows = rows_of(amd_by_hand("--list"))
    assert [(row["INDEX"], row["ADDRESS"], row["RENDER"], row["CARD"], row["ID"]) for row in rows] == [
        (str(n), gpu.address, f"renderD{gpu.render}", f"card{gpu.card}", gpu.uuid) for n, gpu in enumerate(CPX)]
    assert {(row["GFX"], row["TYPE"], row["VRAM"]) for row in rows} == {("gfx942", "discrete", "24576 MiB")}
    edits = amd_plan("--request", "all")
    assert nodes_of(edits) == nodes_for(*CPX)
    assert sorted(link["path"].rpartition("/")[2] for link in edits["links"]) == sorted(
        name for gpu in CPX for name in gpu.links())


@on_host(MI210)
def test_mi210_whose_minors_are_in_another_order(amd_by_hand, amd_plan):
    """Indices are in the order of addresses, whatever the order in KFD; and no card is that of the minor."""
    rows = rows_of(amd_by_hand("--list"))
    assert [row["RENDER"] for row in rows] == [f"renderD{n}" for n in (130, 131, 129, 128, 134, 135, 133, 132)]
    assert [row["CARD"] for row in rows] == [f"card{n}" for n in (4, 3, 1, 2, 8, 7, 5, 6)]
    assert [row["ADDRESS"] for row in rows] == sorted(gpu.address for gpu in MI210)
    for value, gpus in [("0,3:0", [MI210[2], MI210[0]]), ("card3", [MI210[3]]), ("all", MI210)]:
        assert nodes_of(amd_plan("--request", value)) == nodes_for(*gpus)
    assert rows[0]["GFX"] == "gfx90a"


@on_host(SPX)
def test_mi300x_undivided(amd_by_hand, amd_plan):
    rows = rows_of(amd_by_hand("--list"))
    assert [row["ID"] for row in rows] == [gpu.uuid for gpu in SPX] and rows[7]["RENDER"] == "renderD184"
    assert nodes_of(amd_plan("--request", "GPU-F00DFACE00000047,1:0")) == nodes_for(SPX[7], SPX[1])


@on_host([PHOENIX])
def test_an_apu_alone(amd_by_hand, amd_plan):
    [row] = rows_of(amd_by_hand("--list"))
    assert (row["TYPE"], row["ID"], row["HINT"]) == ("integrated", "-", "HSA_OVERRIDE_GFX_VERSION=11.0.0")
    for value in ("all", "any:1", "0", "igpu", "card1", "gfx1103"):
        assert nodes_of(amd_plan("--request", value)) == nodes_for(PHOENIX)


@on_host(OLD, old=True)
def test_an_old_kernel(amd_by_hand, amd_plan):
    """It says neither version nor domain: two GPUs are at one place, but sysfs has them apart."""
    rows = rows_of(amd_by_hand("--list"))
    assert [(row["ADDRESS"], row["GFX"], row["TYPE"], row["VRAM"]) for row in rows] == [
        (gpu.address, "-", "discrete", "20480 MiB") for gpu in OLD]
    assert nodes_of(amd_plan("--request", "0001:21:00.0")) == nodes_for(OLD[1])
    assert nodes_of(amd_plan("--request", "all")) == nodes_for(*OLD)


@on_host([OLD[0], Gpu("0000:64:00.0", 1, 129, 0, cores=8)], old=True)
def test_an_old_kernel_takes_an_apu_and_its_cpu_for_one(amd_by_hand, amd_plan):
    assert [row["TYPE"] for row in rows_of(amd_by_hand("--list"))] == ["discrete", "integrated"]
    assert nodes_of(amd_plan("--request", "all")) == nodes_for(OLD[0])


@on_host(TPX[:3], blanks=TPX[3:])
def test_partitions_of_which_kfd_says_one_place_and_one_id(amd_by_hand, amd_plan):
    assert [row["ADDRESS"] for row in rows_of(amd_by_hand("--list"))] == ["0000:01:00.0"] * 3
    for value, gpus in [("0:2", TPX[2:3]), ("0x4d", TPX[:3]), ("1", TPX[1:2]), ("all", TPX[:3])]:
        assert nodes_of(amd_plan("--request", value)) == nodes_for(*gpus)
    error_of(amd_by_hand("--plan", "--request", "renderD131"), 3, "renderD128", "renderD130")


def test_no_compute(amd_by_hand, amd_machine):
    """A container with its nodes in /dev/dri alone would show a GPU, and compute nothing: whoever asks is told."""
    what = "the amdgpu driver has no compute (KFD)"
    amd_machine.write("proc/devices", "Character devices:\n  1 mem\n\nBlock devices:\n  8 sd\n")
    error_of(amd_by_hand("--plan", "--request", "0"), 6, what)
    amd_machine.remove_kfd()
    for options, config in [((), asked("all")), (("--request", "0"), {}),
                            (("--opt-in", "always", "--request", "all"), asked())]:
        error_of(amd_by_hand("--plan", *options, **config), 6, what, XT.address, RAPHAEL.address)
    error_of(amd_by_hand("--list"), 6, what)
    nothing(amd_by_hand("--plan", **asked("none")))


@on_host([])
@pytest.mark.parametrize("kfd", [True, False])
def test_no_amd_gpu(amd_by_hand, amd_machine, kfd):
    """Though there is a card0, of another. Where the host asks for all of them, a container may go without."""
    if not kfd:
        amd_machine.remove_kfd()
    for options, config in [((), asked("0")), ((), asked("all")), (("--request", "card0"), {}),
                            ((), asked("env", env=["AMD_VISIBLE_DEVICES=all"]))]:
        error_of(amd_by_hand("--plan", *options, **config), 3, "this host has no AMD GPU (")
    error_of(amd_by_hand("--list"), 3, "this host has no AMD GPU (")
    for options, config in [(("--opt-in", "always", "--request", "all"), asked()), ((), asked("none"))]:
        nothing(amd_by_hand("--plan", *options, **config))


@on_host([], blanks=[PHOENIX])
def test_a_gpu_that_computes_nothing(amd_by_hand):
    """amdgpu shows pictures with many that KFD does not know."""
    error_of(amd_by_hand("--plan", "--request", "all"), 3, "this host has no AMD GPU (", f"'{PHOENIX.address}'")


@on_host([])
def test_wsl(amd_by_hand, amd_machine):
    amd_machine.remove_kfd()
    amd_machine.write("dev/dxg", "")
    error_of(amd_by_hand("--plan", "--request", "all"), 3, "this host has no AMD GPU (", "WSL")


def not_replaced(by_hand, plan, problem):
    """The discrete GPU has this problem: it is refused by name, and the integrated one stands in for it in nothing."""
    for value in ("0", "dgpu"):
        error_of(by_hand("--plan", "--request", value), 6, problem)
    for value in ("all", "any:1", "any:dgpu:1", "any:gfx1100:1"):
        error_of(by_hand("--plan", "--request", value), 3, problem)
    for value in ("1", "igpu", "any:igpu:1"):
        assert nodes_of(plan("--request", value)) == nodes_for(RAPHAEL)


def test_a_gpu_of_which_kfd_says_no_render_node(amd_by_hand, amd_plan, amd_machine):
    properties = f"{amd_machine.topology(XT)}/properties"
    for text in (XT.properties().replace("drm_render_minor", "other"), XT.properties().replace("minor 129", "minor 0")):
        amd_machine.write(properties, text)
        not_replaced(amd_by_hand, amd_plan, "no render node")


def test_a_gpu_whose_files_cannot_be_read_is_no_reason_for_the_others(amd_by_hand, amd_plan, amd_machine):
    """As one that is taken away at this moment."""
    amd_machine.write(f"{amd_machine.device_directory(XT.address)}/drm/card{XT.card}/dev", "")
    not_replaced(amd_by_hand, amd_plan, f"card{XT.card}/dev' has no device number")


def test_a_gpu_without_its_render_node_is_named_and_not_given(amd_by_hand, amd_plan, amd_machine):
    """Nothing else takes its place."""
    amd_machine.remove("sys/class/drm/renderD129")
    not_replaced(amd_by_hand, amd_plan, "the host has no renderD129")
    assert "renderD129" in rows_of(amd_by_hand("--list"))[0]["STATE"]


@on_host([XT, TWIN])
@pytest.mark.parametrize("value", ["any:1", "all", "any:dgpu:1", "gfx1100"])
def test_a_gpu_that_is_passed_by_is_told(amd_by_hand, amd_machine, value):
    """By whatever does not name it."""
    amd_machine.remove("sys/class/drm/renderD129")
    process = amd_by_hand("--plan", "--request", value)
    assert process.returncode == 0 and "renderD131" in process.stdout, process.stderr
    [line] = process.stderr.splitlines()
    assert f"GPU 0 ({XT.uuid}) is left out: the host has no renderD129" in line


def test_two_gpus_of_one_render_node_are_not_given(amd_by_hand, amd_machine):
    """The device cgroup could not tell them apart."""
    amd_machine.write(f"{amd_machine.topology(RAPHAEL)}/properties",
                      RAPHAEL.properties().replace("minor 128", "minor 129"))
    for value in "01":
        error_of(amd_by_hand("--plan", "--request", value), 6, "renderD129")


@pytest.mark.parametrize("name, text", [("class/kfd/kfd/dev", "x"), ("class/drm/card2/dev", f"{1 << 30}:2"),
                                        ("class/drm/renderD129/dev", "226"), ("class/kfd/kfd/dev", "x" * 70000)])
def test_what_no_kernel_says_is_no_number(amd_by_hand, amd_machine, name, text):
    amd_machine.write(f"sys/{name}", text)
    error_of(amd_by_hand("--plan", "--request", "0"), 6, f"/{name.rpartition('/')[2]}'")


def hidden(machine, *gpus, calls="read"):
    """A wrapper of the hook which it may not read these GPUs' properties through, as by a device cgroup: to open them
    may be allowed. strace compares the path as it is in the call, and the file of the descriptor."""
    directories = [machine.topology(gpu) for gpu in gpus]
    names = [f"{directory.rpartition('/')[2]}/properties" for directory in directories] if calls != "read" else [
        machine.path.resolve() / directory / "properties" for directory in directories]
    return ["/usr/bin/strace", "-qq", "-o", "/dev/null", "-E", "ASAN_OPTIONS=detect_leaks=0",
            *(word for name in names for word in ("-P", name)), "-e", f"inject={calls}:error=EPERM"]


@pytest.mark.parametrize("calls", ["read", "openat"])
def test_hidden_by_a_device_cgroup(amd_by_hand, amd_machine, calls):
    """What is hidden is not to be had, and is no error; nor does it leave the integrated one out."""
    wrapper = hidden(amd_machine, XT, calls=calls)
    process = amd_by_hand("--plan", "--log-level", "info", wrapper=wrapper, **asked("all"))
    assert process.returncode == 0 and "renderD128" in process.stdout and "renderD129" not in process.stdout
    [line] = [line for line in process.stderr.splitlines() if "cgroup" in line]
    assert "1 AMD GPU of this host" in line
    [row] = rows_of(amd_by_hand("--list", wrapper=wrapper))
    assert row["INDEX"] == "0" and row["RENDER"] == "renderD128"
    for value in ("1", "renderD129", "dgpu"):
        error_of(amd_by_hand("--plan", "--request", value, wrapper=wrapper), 3, f"'{value}'")


def test_all_of_them_hidden(amd_by_hand, amd_machine):
    error_of(amd_by_hand("--plan", "--request", "all", wrapper=hidden(amd_machine, XT, RAPHAEL)), 3, "device cgroup",
             "2 AMD GPUs")


@pytest.mark.parametrize("value, outcome", [
    ("0", 6), ("1", 6), ("any:1", 6), ("all", 6), ("0-1", [XT, RAPHAEL]), ("all,igpu", [XT, RAPHAEL])])
def test_without_root_all_or_nothing(amd_by_hand, value, outcome):
    """ROCm fails on the GPUs that KFD shows it and that it has no node of, unless a device cgroup hides them."""
    process = amd_by_hand("--plan", wrapper=ROOTLESS, **asked(value))
    if outcome == 6:
        error_of(process, 6, "of 2 AMD GPUs", "device cgroup", "rootless", "'0-1'")
    else:
        assert process.returncode == 0 and [gpu for gpu in outcome if f"D{gpu.render}" not in process.stdout] == []


@on_host([XT])
def test_without_root_the_only_one(amd_by_hand):
    assert amd_by_hand("--plan", wrapper=ROOTLESS, **asked("0")).returncode == 0


def test_without_root_what_is_hidden_does_not_count(amd_by_hand, amd_machine):
    """As in a job of Slurm's that has one of them."""
    wrapper = [*ROOTLESS, *hidden(amd_machine, RAPHAEL)]
    assert amd_by_hand("--plan", wrapper=wrapper, **asked("all")).returncode == 0
    nothing(amd_by_hand("--plan", wrapper=ROOTLESS, **asked("none")))
