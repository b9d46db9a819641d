# SPDX-License-Identifier: Apache-2.0
"""nvidia-devices hindered or killed in the middle: the container does not start, and what had been given is
taken back, the rules of its device cgroup too. To see what is left, most containers here start all the same."""

import pytest

from harness import engines
from harness.expect import started
from harness.faults import strace
from harness.nvidia_container import (CAPABILITIES, DENIED, PROBE, given, in_vain, probed, refused, snapshot,
                                      without_dev)
from harness.source import host_tree, tree

pytest_plugins = ["harness.nvidia_fixtures"]

RUNC, CRUN = engines.RUNTIMES
LOOK = (f"{PROBE} probe /dev/volume*; ls -A /dev; ls -A /dev/dri /proc/driver/nvidia 2>/dev/null;"
        " grep -c oci-gpu-hooks /proc/self/mountinfo || true")
V1, V2, BY_CRUN = (RUNC, "as-found"), (RUNC, "v2"), (CRUN, "not-hybrid")
MAPPED, MAPPED_BY_CRUN = (engines.MAPPED[0], "v2"), (engines.MAPPED[1], "not-hybrid")
CALLS = [
    # A rule of the cgroup; the first node, and a later one.
    (V1, "write", 5), (V1, "mknodat", 1), (BY_CRUN, "mknodat", 4),
    # /dev/dri/by-path; a link; what covers the driver's directory, and what is in it.
    (V2, "mkdirat", 2), (V2, "symlinkat", 2), (BY_CRUN, "move_mount", 1), (V2, "mount_setattr", 3),
    # In a user namespace: a node on the host's tmpfs, its mount.
    (MAPPED, "mknodat", 3), (MAPPED_BY_CRUN, "move_mount", 9),
    # The tree of the driver's files: its links and files, and their mounts, also in a user namespace.
    (V1, "symlinkat", 5), (V2, "open_tree", 4), (BY_CRUN, "write", 1), (MAPPED, "mount_setattr", 2)]


def name_of(value):
    return "-".join(map(str, value)) if isinstance(value, tuple) else None


@pytest.fixture(name="make")
def make_fixture(nv_box, machine):
    """A function that makes a container which asks for GPU 1, and has its nodes from elsewhere too."""
    def make(engine, cgroup):
        box = nv_box("1", engine=engine, cgroup=cgroup)
        box.annotations[CAPABILITIES] = "compute,graphics"
        for name in ("nvidia2", "nvidiactl"):
            box.volume(f"/dev/volume-{name}", machine.path / "dev" / name)
        return box
    return make


def taken_back(make, machine, scratch, cell, fault):
    """What the hook says last that was hindered by `fault`: no node, no link, no mount and no rule of the cgroup is left,
    and the host has what it had."""
    box = make(*cell)
    box.wrapper = strace("-e", f"inject={fault}")
    in_vain(box, scratch / "status")
    machine_before, image_before = host_tree(machine.path), tree(box.rootfs)
    result = box.run(LOOK)
    *volumes, end = started(result).split("\n", 2)
    assert (scratch / "status").read_text() in ("1\n", "6\n"), result.said
    assert [seen.said for seen in probed("\n".join(volumes)).values()] == [DENIED] * 2
    left = [name for name in end.split() if "nvidia" in name and not name.startswith("volume-")]
    assert left == ["/proc/driver/nvidia:"] or left == []
    assert "dri" not in end.split() and ".oci-gpu-hooks" not in end and end.endswith("0\n"), end
    assert host_tree(machine.path) == machine_before
    image = tree(box.rootfs)
    assert image_before.items() <= image.items()
    assert not [path for path in image if path not in image_before and "nvidia" in str(path)]
    return result.said[-1]


@pytest.mark.parametrize("cell, call, when", CALLS, ids=name_of)
def test_what_was_given_is_taken_back(make, machine, scratch, cell, call, when):
    said = taken_back(make, machine, scratch, cell, f"{call}:error=ENOSPC:when={when}")
    assert "No space left" in said


def test_what_was_done_until_then_is_said(make, scratch):
    box = make(*V1)
    box.wrapper = strace("-e", "inject=symlinkat:error=EIO:when=6")
    in_vain(box, scratch / "status")
    *before, last = box.run("true").said
    assert any(line.endswith(" is given") for line in before) and "Input/output error" in last, (before, last)


@pytest.mark.parametrize("cell, call, name", [
    (V1, "mknodat", "TERM"), (BY_CRUN, "move_mount", "HUP"), (MAPPED, "move_mount", "INT"), (V2, "symlinkat", "TERM")],
    ids=name_of)
def test_a_hook_that_is_told_to_end_takes_back_what_was_given(make, machine, scratch, cell, call, name):
    said = taken_back(make, machine, scratch, cell, f"{call}:signal={name}:when=1")
    assert f": ended by SIG{name} while " in said


@pytest.mark.parametrize("cell, call, when", [
    (V1, "renameat2", 1), (V2, "move_mount", 2), (MAPPED, "move_mount", 5)], ids=name_of)
def test_a_dev_of_the_image_is_as_it_was(make, cell, call, when):
    """What was in a node's place is there again, too."""
    box = make(*cell)
    without_dev(box)
    box.config["mounts"] = [m for m in box.config["mounts"] if "volume" not in m["destination"]]
    (box.rootfs / "dev/nvidia2").write_text("of the image")
    before = tree(box.rootfs / "dev")
    box.wrapper = strace("-e", f"inject={call}:error=EIO:when={when}")
    refused(box.run(LOOK))
    names = {str(path) for path in tree(box.rootfs / "dev") if path not in before}
    # Beside what the runtime itself makes for every container.
    assert not [name for name in names if "nvidia" in name or "dri" in name or "oci" in name], names
    assert (box.rootfs / "dev/nvidia2").read_text() == "of the image"
    box.wrapper = ()
    seen = probed(started(box.run(f"{PROBE} probe /dev/nvidia*")))
    assert set(seen) == {"/dev/nvidia2", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}


@pytest.mark.parametrize("cell", [V2, BY_CRUN, (engines.MAPPED[0], "as-found")], ids=name_of)
def test_what_it_had_before_stays(make, machine, scratch, cell):
    """A second request that fails takes nothing of the first with it."""
    box = make(*cell)
    entry = box._entry()  # pylint: disable=protected-access
    box.first += [entry, snapshot(scratch / "first")]
    box.last = [snapshot(scratch / "second")]
    box.args += ["--request", "2"]
    box.wrapper = strace("-e", "inject=move_mount:error=EIO:when=1+")
    in_vain(box, scratch / "status")
    out = started(box.run(f"{PROBE} probe /dev/nvidia*; probe /dev/volume*"))
    assert (scratch / "status").read_text() != "0\n"
    first, second = ((scratch / name).read_text().splitlines() for name in ("first", "second"))
    more = [line for line in second if line not in first]
    assert [line for line in first if line not in second] == []
    assert all(f"gpus/{machine.gpus[2].address} d " in line for line in more), more  # an empty directory at most
    seen = probed(out)
    assert DENIED not in [each.said for each in seen.values()]
    assert {path: each for path, each in seen.items() if "volume" not in path} == given(machine.gpus[1])


@pytest.mark.parametrize("cell, call, when", [
    (V1, "mknodat", 2), (MAPPED_BY_CRUN, "symlinkat", 1), (V1, "move_mount", 2), (MAPPED_BY_CRUN, "move_mount", 2)],
    ids=name_of)
def test_killed_in_the_middle(make, machine, cell, call, when):
    """Nothing stays mounted on the host, and the next container of the same image works."""
    box = make(*cell)
    without_dev(box)
    box.config["mounts"] = [m for m in box.config["mounts"] if "volume" not in m["destination"]]
    box.wrapper = strace("-e", f"inject={call}:signal=SIGKILL:when={when}")
    result = box.run(LOOK)
    assert result.code != 0 and result.out == "", (result.out, result.err)
    box.wrapper = ()
    assert given(machine.gpus[1]).items() <= probed(started(box.run(f"{PROBE} probe /dev/nvidia*"))).items()


def test_no_program_is_run_and_no_device_of_the_driver_opened(make, scratch):
    """To open a GPU's node would start a sleeping GPU, and take seconds; it is looked at without."""
    box = make(*V1)
    trace = scratch / "trace"
    box.wrapper = ("/usr/bin/strace", "-D", "-f", "-y", "-qq", "-o", trace, "-e",
                   "trace=execve,execveat,open,openat,openat2,connect")
    started(box.run(LOOK))
    lines = trace.read_text().splitlines()
    assert sum("exec" in line.split("(")[0] for line in lines) == 1
    assert not [line for line in lines if "/dev/nvidia" in line and "O_PATH" not in line]
