# SPDX-License-Identifier: Apache-2.0
"""The nodes, links and names that a container gets of AMD's GPUs: which, from what on the host, and in place of what
the image has."""

import os
import re
import stat

import pytest

from harness import engines
from harness.amd_container import LINKS, SHOW, given, linked, on_host, refused
from harness.expect import started, told
from harness.faults import strace
from harness.ldcache import OWN_MOUNTS, in_the_container
from harness.nvidia_container import DENIED, in_vain, node, probed
from harness.nvidia_container import KEY as NVIDIA_KEY
from harness.nvidia_container import given as given_of_nvidia
from harness.podman import PodmanBox
from hosts.amd import CPX, CPX_BLANKS, DRM, KFD, PHOENIX, RAPHAEL, TPX, XT
from hosts.nvidia import ONE, NvidiaHost

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

RUNC, CRUN = engines.RUNTIMES
SPACES = [RUNC, CRUN, *engines.MAPPED]
SOME = [RUNC, engines.MAPPED[1]]


@on_host(CPX, blanks=CPX_BLANKS)
def test_partitions(amd_box, amd_machine):
    """The first one is the PCI device, all others have devices of their own; no other partition comes with them."""
    chosen = [CPX[0], CPX[3], CPX[63]]
    amd_machine.node("dev/dri/renderD129", DRM, 129, 0o666)
    box = amd_box("0:0,0:3,7:7", engine=CRUN)
    box.volume("/dev/dri/renderD129", amd_machine.path / "dev/dri/renderD129")
    nodes, rocm, links = started(box.run(f"{SHOW}; echo --; hsakmt_probe; echo --; {LINKS}")).split("--\n")
    seen = probed(nodes)
    assert seen.pop("/dev/dri/renderD129").said == DENIED and seen == given(*chosen)
    assert rocm == "renderD128\nrenderD129 passed over\nrenderD131\nrenderD198\n"
    assert links == linked(*chosen)
    assert [gpu.by_path for gpu in chosen] == ["pci-0000:1b:00.0", "platform-amdgpu_xcp_2", "platform-amdgpu_xcp_62"]


@on_host(CPX, blanks=CPX_BLANKS)
def test_all_of_64_partitions(amd_box, amd_machine):
    """What KFD does not list is no partition."""
    nodes, rocm = started(amd_box("all", engine=engines.MAPPED[0]).run(f"{SHOW}; echo --; hsakmt_probe")).split("--\n")
    assert probed(nodes) == given(*CPX) and len(rocm.split()) == 64
    assert not [gpu for gpu in CPX_BLANKS if f"renderD{gpu.render}" in nodes] and amd_machine.gpus == CPX


@on_host(TPX[:3], blanks=TPX[3:])
def test_partitions_by_another_drivers_name(amd_box):
    assert started(amd_box("0:1,0:2").run(LINKS)) == linked(*TPX[1:3])


@pytest.mark.parametrize("engine", [CRUN, engines.MAPPED[0]], ids=str)
def test_nothing_is_left_in_the_image(amd_box, amd_machine, engine):
    """Nothing is brought but nodes: the names of GPUs come with the image's libdrm."""
    amd_machine.write("usr/share/libdrm/amdgpu.ids", "744C,\tCC,\tAMD Example\n")
    box = amd_box("0", engine=engine)
    before = {path for path in box.rootfs.rglob("*") if "dev" not in path.parts}
    started(box.run())
    made = {path for path in box.rootfs.rglob("*") if "dev" not in path.parts} - before
    assert {path.name for path in made} <= {"proc", "sys"}


@pytest.mark.parametrize("engine", [CRUN, engines.MAPPED[0]], ids=str)
def test_a_host_without_any_node(amd_box, amd_machine, engine):
    """Numbers and names are the driver's: what the host's /dev has is not asked."""
    amd_machine.remove("dev")
    (amd_machine.path / "dev").mkdir()
    assert probed(started(amd_box("0,1", engine=engine).run(SHOW))) == given(XT, RAPHAEL)


FORGED = {
    "symlink": lambda path: path.symlink_to("renderD128"),
    f"{DRM}:128": lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(DRM, 128))}


@pytest.mark.parametrize("kind", FORGED)
def test_h8_a_node_of_the_host_that_is_not_the_drivers(amd_box, amd_machine, scratch, kind):
    """cve_2025_31133: what the name leads to is not what was asked for. Nothing is given at all."""
    path = amd_machine.path / "dev/dri/renderD129"
    path.unlink()
    FORGED[kind](path)
    amd_machine.node("dev/kfd", KFD, 0)
    box = amd_box("0", engine=SOME[list(FORGED).index(kind)])
    box.volume("/dev/other", amd_machine.path / "dev/kfd")
    in_vain(box, scratch / "status")
    result = box.run(f"{SHOW} /dev/other")
    seen = probed(started(result))
    assert seen.pop("/dev/other").said == DENIED and seen == {"/dev/kfd": None}
    assert (scratch / "status").read_text() == "6\n"
    told(result, f"'{path}'", f"{DRM}:129", kind)


SHAPES = ["mknod -m 600 kfd c 1 3; mkfifo dri/card2; ln -s /etc/passwd dri/renderD129",
          f"ln -s nowhere kfd; echo x > dri/card2; mknod -m 600 dri/renderD129 c {DRM} 129",
          f"mkfifo kfd; mknod -m 666 dri/card2 b {DRM} 2; mknod -m 666 dri/renderD129 c {DRM} 128"]


@pytest.mark.parametrize("engine, shapes", zip([RUNC, CRUN, RUNC], SHAPES), ids=["runc-0", "crun-1", "runc-2"])
def test_what_is_in_the_containers_dev_is_not_believed(amd_box, scratch, engine, shapes):
    """All else of that name is replaced, a render node that others may not open too; the right one stays the same."""
    box = amd_box("0,1", engine=engine)
    right = f"{XT.by_path}-card dri/renderD128"
    box.first.append(in_the_container(
        f'cd "$ROOT/dev"; umask 0; mkdir -p dri/by-path; {shapes}; ln -s ../card9 dri/by-path/{RAPHAEL.by_path}-card;'
        f" ln -s ../card2 dri/by-path/{XT.by_path}-card; mknod -m 666 dri/renderD128 c {DRM} 128;"
        f' cd dri/by-path; stat -c %i {right.replace("dri", "..")} > "{scratch}/inodes"'))
    passwd = (box.rootfs / "etc/passwd").read_text()
    inodes, nodes, links = started(box.run(f"cd /dev/dri/by-path; stat -c %i {right.replace('dri', '..')}; echo --;"
                                           f" {SHOW}; echo --; {LINKS}")).split("--\n")
    assert inodes == (scratch / "inodes").read_text()
    assert probed(nodes) == given(XT, RAPHAEL) and links == linked(XT, RAPHAEL)
    assert (box.rootfs / "etc/passwd").read_text() == passwd


@pytest.mark.parametrize("engine", SOME, ids=str)
@pytest.mark.parametrize("mode, place", [(0o666, "nodes"), (0o660, "nodes"), (0o660, "dri"), (0o666, "dri")])
def test_nodes_that_come_in_by_a_volume(amd_box, amd_machine, engine, mode, place):
    """As by --device in a user namespace. Those that everyone may open stay; instead of others there are some of ours,
    or no container: never a node on which ROCm ends."""
    (amd_machine.path / "dev/dri/by-path").mkdir()
    for link, target in XT.links().items():
        (amd_machine.path / "dev/dri/by-path" / link).symlink_to(target)
    for name in XT.nodes():
        (amd_machine.path / "dev/dri" / name).chmod(mode)
    amd_machine.node("dev/dri/renderD128", DRM, 128)
    box = amd_box("0", engine=engine)
    for name in XT.nodes() if place == "nodes" else [""]:
        box.volume(f"/dev/dri/{name}", amd_machine.path / "dev/dri" / name)
    box.config["process"]["user"] = {"uid": 1000, "gid": 1000}
    result = box.run(f"hsakmt_probe; {LINKS}")
    if result.code != 0 and mode == 0o660:
        refused(result, None, "/dev/dri/card2")
    else:
        assert started(result) == ("renderD128 passed over\n" if place == "dri" else "") + "renderD129\n" + linked(XT)


@pytest.mark.parametrize("engine", SOME, ids=str)
def test_a_second_run_changes_nothing_and_a_second_request_adds(amd_box, scratch, engine):
    box = amd_box(None, "--request", "0", engine=engine)
    box.loader = "concourse"
    look = (f'({OWN_MOUNTS} | grep -v proc; cd "$ROOT"; find dev -printf "%p %y %i %D %U %G %m %l\\n" '
            '| sort)')
    first = box._entry()  # pylint: disable=protected-access
    looks = [in_the_container(f'{look} > "{scratch}/{name}"') for name in ("first", "second")]
    box.first += [first, looks[0], first, looks[1]]
    box.args[-1] = "1"
    nodes, links = started(box.run(f"{SHOW}; echo --; {LINKS}")).split("--\n")
    assert (scratch / "first").read_text() == (scratch / "second").read_text()
    assert "renderD129 " in (scratch / "first").read_text()
    assert probed(nodes) == given(XT, RAPHAEL) and links == linked(XT, RAPHAEL)


def test_with_plan_nothing_is_given(amd_box, amd_machine):
    box = amd_box("0", "--plan")
    box.volume("/dev/other", amd_machine.path / "dev/kfd")
    seen = probed(started(box.run(f"{SHOW} /dev/other")))
    assert seen.pop("/dev/other").said == DENIED and seen == {"/dev/kfd": None}


@pytest.mark.parametrize("engine", [CRUN, engines.MAPPED[0], engines.PODMANS[0]], ids=str)
def test_with_nvidia_devices_in_one_container(amd_box, nv_hook, scratch, engine):
    """Each hook has its own nodes, and both have some in /dev/dri."""
    other = NvidiaHost(scratch / "nvidia", ONE)
    box = amd_box("0", engine=engine)
    box.annotations.update({NVIDIA_KEY: "0", f"{NVIDIA_KEY}.capabilities": "compute,graphics"})
    entry = nv_hook.entry(["--sysroot", other])
    if isinstance(box, PodmanBox):
        nv_hook.write(box.runtime.hooks / "0-nvidia.json", entry, "createRuntime")
    else:
        box.first.append(entry)
    nodes, rocm = started(box.run(f"{SHOW} /dev/nvidia*; echo --; hsakmt_probe")).split("--\n")
    dri = {f"/dev/dri/{name}": node(226, minor) for name, minor in (("card1", 1), ("renderD128", 128))}
    seen = probed(nodes)
    assert {path: seen.pop(path).number for path in dri} == {path: each.number for path, each in dri.items()}
    assert seen == given(XT) | given_of_nvidia(*ONE) and rocm.split()[-1] == "renderD129"


@pytest.mark.parametrize("cell, call, when", [
    ((RUNC, "v2"), "mknodat", 2), ((CRUN, "not-hybrid"), "symlinkat", 2),
    ((engines.MAPPED[0], "as-found"), "move_mount", 2)], ids=["second node", "second link", "mapped node"])
def test_what_was_given_is_taken_back(amd_box, amd_machine, scratch, cell, call, when):
    """Hindered in the middle, the hook leaves no node that ROCm could find and not open, and no rule."""
    amd_machine.node("dev/kfd", KFD, 0)
    box = amd_box("0", engine=cell[0], cgroup=cell[1])
    box.volume("/dev/other", amd_machine.path / "dev/kfd")
    box.wrapper = strace("-e", f"inject={call}:error=ENOSPC:when={when}")
    in_vain(box, scratch / "status")
    seen, left = started(box.run(f"{SHOW} /dev/other; echo --; ls -A /dev")).split("--\n")
    assert (scratch / "status").read_text() in ("1\n", "6\n")
    assert probed(seen).pop("/dev/other").said == DENIED and probed(seen)["/dev/kfd"] is None
    assert "dri" not in left and ".oci-gpu-hooks" not in left, left


def test_no_program_is_run_and_no_device_opened(amd_box, scratch):
    """To open a GPU's node would wake it; it is looked at without."""
    box = amd_box("0")
    trace = scratch / "trace"
    box.wrapper = ("/usr/bin/strace", "-D", "-f", "-y", "-qq", "-o", trace, "-e",
                   "trace=execve,execveat,open,openat,openat2,connect")
    started(box.run())
    lines = trace.read_text().splitlines()
    assert sum("exec" in line.split("(")[0] for line in lines) == 1
    nodes = [line for line in lines if re.search(r"= \d+<.*/dev/(kfd|dri/[cr].*)>$", line)]
    assert nodes and not [line for line in nodes if "O_PATH" not in line]


@on_host([PHOENIX])
def test_a_hint_in_the_log(amd_box):
    """For who asks a GPU that ROCm packages are not built for; not where somebody has thought of it."""
    box = amd_box("0")
    result = box.run()
    told(result, "gfx1103", "HSA_OVERRIDE_GFX_VERSION=11.0.0")
    box.environment("HSA_OVERRIDE_GFX_VERSION=10.3.0")
    assert started(result) and "HSA_OVERRIDE" not in "".join(box.run().said)


def test_what_fails_is_refused_with_its_code(amd_box):
    refused(amd_box("2").run(), 3, "no GPU '2'")
    refused(amd_box("0", "--allow", "igpu").run(), 5)
    refused(amd_box("0,,1").run(), 2)
