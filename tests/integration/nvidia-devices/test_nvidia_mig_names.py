# SPDX-License-Identifier: Apache-2.0
"""Instances of GPUs (MIG) by the names that NVIDIA's library alone knows: a program beside the hook asks it, and is
believed nothing that the driver does not show as well."""

import os
import shutil
import subprocess
import time

import pytest

from harness import engines
from harness.expect import started
from harness.gpu import nodes_of
from harness.nvidia_container import KEY, alive, asked, error_of, gpus_of, refused
from hosts import nvml
from hosts.nvidia import EIGHT, gi_minor

pytest_plugins = ["harness.nvidia_fixtures"]

RUNC, CRUN = engines.RUNTIMES
PROGRAM = "nvidia-devices-nvml"
PARTED, PARTED_TOO = EIGHT[1], EIGHT[4]
UUID = "MIG-5a1c0de0-1111-5222-8333-0123456789{}".format
SMALL, LARGE = "1g.10gb", "2g.20gb"
ANSWER = [nvml.gpu(1, PARTED), nvml.instance(PARTED, 0, "7/0", UUID("a0")), nvml.instance(PARTED, 1, "8/0", UUID("a1")),
          nvml.instance(PARTED, 3, "1/0", UUID("a2"), LARGE),
          nvml.gpu(4, PARTED_TOO), nvml.instance(PARTED_TOO, 0, "9/0", UUID("b0"), f"{SMALL}+me")]
LOST = "cannot be right"


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory):
    return nvml.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(autouse=True)
def library(machine, nvml_library):
    """What the host's library says; two of its GPUs are divided."""
    for index, gpu_instance in ((1, 7), (1, 8), (1, 1), (4, 9)):
        machine.add_instance(index, gpu_instance, 0)
    made = nvml.Nvml(machine, nvml_library)
    made.says(*ANSWER)
    return made


def part(gpu, gpu_instance):
    return [f"/dev/nvidia-caps/nvidia-cap{gi_minor(gpu, gpu_instance) + n}" for n in range(2)]


def parts_of(edits):
    return sorted(path for path in nodes_of(edits) if "caps" in path)


@pytest.mark.parametrize("name, nodes", [
    ("1:0", part(PARTED, 7)), ("1:3", part(PARTED, 1)), ("4:0", part(PARTED_TOO, 9)), (UUID("a1"), part(PARTED, 8)),
    (UUID("B0").upper(), part(PARTED_TOO, 9)), (f"mig-{LARGE}", part(PARTED, 1)),
    (f"mig-{SMALL}", part(PARTED, 7) + part(PARTED, 8)), (f"any:mig-{SMALL}:2", part(PARTED, 7) + part(PARTED, 8)),
    (f"any:mig-{SMALL}:1", part(PARTED, 7)), (f"any:mig-{SMALL}.me:1", part(PARTED_TOO, 9)),
    (f"1:0,any:mig-{SMALL}:1", part(PARTED, 7) + part(PARTED, 8))])
def test_what_a_name_means(plan, name, nodes):
    assert parts_of(plan(**asked(name))) == sorted(nodes)


@pytest.mark.parametrize("engine", [RUNC, CRUN, engines.MAPPED[1], engines.PODMANS[1]], ids=str)
def test_a_container_has_them(nv_box, engine):
    for request, nodes in ((UUID("b0"), part(PARTED_TOO, 9)), ("1:3", part(PARTED, 1)),
                           (f"any:mig-{SMALL}:2", part(PARTED, 7) + part(PARTED, 8))):
        out = started(nv_box(request, engine=engine).run("find /dev -name 'nvidia-cap[0-9]*'"))
        assert sorted(out.split()) == sorted(nodes)


def test_the_variable_of_nvidias_tools(plan):
    for value, nodes in ((UUID("a0"), part(PARTED, 7)), ("4:0", part(PARTED_TOO, 9))):
        edits = plan(**asked("env", env=[f"NVIDIA_VISIBLE_DEVICES={value}"]))
        assert parts_of(edits) == nodes


@pytest.mark.parametrize("engine", [RUNC], ids=str)
def test_leases_are_those_of_the_instance(nv_box, engine):
    def box(request):
        made = nv_box(request, engine=engine)
        made.annotations[KEY + ".lease"] = "exclusive"
        return made

    same = (UUID("a0"), "1:0", f"MIG-{PARTED.uuid}/7/0", f"{PARTED.address}/7/0", "1")
    for request in same[:2]:
        with alive(box(request), "true"):
            for other in same:
                refused(box(other).run("true"), 4)
            refused(box(f"any:mig-{SMALL}:2").run("true"), 4)
            out = started(box(f"any:mig-{SMALL}:1").run("find /dev -name 'nvidia-cap[0-9]*'"))
            assert sorted(out.split()) == part(PARTED, 8)


def test_the_hosts_policy(plan, by_hand):
    for allow in (UUID("a0"), "1:0", f"1:0,mig-{LARGE}"):
        assert parts_of(plan("--allow", allow, **asked("1:0"))) == part(PARTED, 7)
        assert parts_of(plan("--allow", allow, **asked(f"{PARTED.address}/7/0"))) == part(PARTED, 7)
        error_of(by_hand("--plan", "--allow", allow, **asked("1:1")), 5, "(--allow)")
    assert parts_of(plan("--allow", f"mig-{SMALL}", **asked("all"))) == sorted(part(PARTED, 7) + part(PARTED, 8))
    listed = by_hand("--list", "--allow", UUID("b0")).stdout
    for name, refused_here in ((f"MIG-{PARTED_TOO.uuid}/9/0", False), (f"MIG-{PARTED.uuid}/7/0", True)):
        assert [line.endswith("not allowed") for line in listed.splitlines() if name in line] == [refused_here]


def test_what_is_not_there(by_hand):
    for name in (UUID("ff"), "1:2", "0:0", "mig-7g.80gb", "any:mig-7g.80gb:1", f"any:mig-{SMALL}:3"):
        error_of(by_hand("--plan", **asked(name)), 3, f"no GPU '{name}'", f"MIG-{PARTED.uuid}/7/0")


@pytest.mark.parametrize("lines, words", [
    (["do exit"], "its end is missing"), (["do crash"], "signal 6"), (["do flood"], "more than 65536 bytes"),
    (["fail nvmlInit_v2 12"], "nvmlInit_v2 gives 12"), (["fail nvmlDeviceGetUUID 999"], "nvmlDeviceGetUUID gives 999"),
    (["fail nvmlDeviceGetHandleByPciBusId_v2 6"], "nvmlDeviceGetHandleByPciBusId_v2 gives 6"), (["say rubbish"], "a line 'rubbish'"),
    (["say end"], LOST),
    ([nvml.gpu(0, PARTED)], "counts the GPU 0000:0f:00.0 as 0, which is 1 here"),
    ([nvml.gpu(1, PARTED), nvml.instance(PARTED, 5, "2/0", UUID("c0"))], "shows no instance 0000:0f:00.0/2/0"),
    ([nvml.gpu(1, PARTED), nvml.instance(PARTED, 5, "7/1", UUID("c0"))], "shows no instance 0000:0f:00.0/7/1"),
    ([nvml.gpu(1, PARTED), nvml.instance(PARTED, 5, "8/0", UUID("c0"))], "'0000:0f:00.0/8/0' is there twice"),
    ([nvml.instance(PARTED, 0, "1/0", UUID("a1"))], f"'{UUID('a1')}' is there twice"),
    ([nvml.gpu(1, PARTED), nvml.instance(PARTED, 5, "1/0", "GPU-0")], "a line '"),
    ([nvml.gpu(1, PARTED), nvml.instance(PARTED, 5, "1/0", UUID("c0"), "1g 10gb")], "a line '"),
    ([nvml.gpu(1, PARTED), nvml.instance(PARTED, 5, "1/0", UUID("c0"), "\x1b[2J")], "a line '")])
def test_a_library_that_lies(by_hand, library, lines, words):
    """What comes first counts, so that the other GPU's is as it should be."""
    library.says(*lines, *ANSWER)
    for name in (UUID("b0"), "4:0"):
        process = by_hand("--plan", **asked(name))
        error_of(process, 6, words)
        assert "\x1b" not in process.stderr


def test_a_library_that_hangs(by_hand, library):
    """It is killed, and what it has started."""
    for lines, seconds in ((["do hang"], 5), (["do leave", *ANSWER], 0)):
        library.says(*lines)
        before = time.monotonic()
        process = by_hand("--plan", **asked("1:0"))
        assert seconds <= time.monotonic() - before < seconds + 3
        if seconds:
            error_of(process, 6, "did not answer within 5 s")
        else:
            assert process.returncode == 0, process.stderr
    left = subprocess.run(["pgrep", "-f", f"^{PROGRAM}"], stdout=subprocess.PIPE, check=False, encoding="utf-8").stdout.split()
    assert [pid for pid in left if str(library.file) in os.path.realpath(f"/proc/{pid}/fd/4")] == []


def test_what_the_library_may_do(by_hand, library):
    """Nothing: no environment, no capability and none to gain, no file to write, no descriptor of the hook's."""
    library.says("do look")
    process = by_hand("--plan", **asked("1:0"))
    error_of(process, 6, "variables=0 uid=0 CapInh=0 CapPrm=0 CapEff=0 CapBnd=0 CapAmb=0 NoNewPrivs=1 files=0,1,2,3,4,5,"
             " wrote=-1,EFBIG leads=1")


def test_nothing_is_started_where_no_name_needs_it(plan, library):
    library.says("do crash")
    for request in ("all", "0", "1", f"MIG-{PARTED.uuid}/7/0", "any:1", "none"):
        plan(**asked(request))
    plan("--allow", "1:0", **asked("none"))


@pytest.fixture
def moved(nv_hook, scratch):
    """A copy of the hook, and of the program beside it: (hook, program)."""
    folder = scratch / "hooks"
    folder.mkdir()
    made = [folder / name for name in (nv_hook.executable.name, PROGRAM)]
    for path in made:
        shutil.copy(nv_hook.executable.parent / path.name, path)
    return made


def run(hook, machine, request="1:0"):
    return subprocess.run([hook, "--sysroot", machine.path, "--plan", "--request", request], check=False, stdin=subprocess.DEVNULL,
                          capture_output=True, encoding="utf-8")


def test_the_program_is_not_there(moved, machine):
    hook, program = moved
    assert run(hook, machine).returncode == 0
    program.unlink()
    for name in ("1:0", UUID("a0"), f"any:mig-{SMALL}:1"):
        error_of(run(hook, machine, name), 3, f"there is no '{program}', which asks it", "ask for them as 'MIG-GPU-")
    assert run(hook, machine, f"MIG-{PARTED.uuid}/7/0").returncode == 0


def test_a_program_or_a_library_that_others_may_change(moved, machine, library):
    hook, program = moved
    for path in (program, program.parent, library.file, library.file.parent):
        mode = path.stat().st_mode & 0o7777
        for change in (lambda: path.chmod(0o775), lambda: path.chmod(0o757), lambda: os.chown(path, 65534, 0)):
            change()
            error_of(run(hook, machine), 6, f"no GPU '1:0': '{path}", "is not run: others than root may change it",
                     "ask for them as")
            os.chown(path, 0, 0)
            path.chmod(mode)
        assert run(hook, machine).returncode == 0
    program.parent.chmod(0o1777)
    assert run(hook, machine).returncode == 0, "nobody can exchange what is in a sticky folder"


def test_a_driver_without_the_library(by_hand, library):
    library.file.unlink()
    error_of(by_hand("--plan", **asked("1:0")), 3, "this host has no 'libnvidia-ml.so.", "ask for them as")
