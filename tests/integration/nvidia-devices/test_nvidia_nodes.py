# SPDX-License-Identifier: Apache-2.0
"""The nodes that a container gets: which, from what on the host, and in place of what the image has."""

import os
import shutil
import stat

import pytest

from harness import engines
from harness.expect import started, told
from harness.ldcache import in_the_container
from harness.nvidia_container import (CAPABILITIES, CHANNELS, DENIED, PROBE, given, in_vain, node, probed, refused,
                                      without_dev)
from harness.turns import in_turns
from hosts.nvidia import DRM, FS, GDR, IMEX, MAJOR, MODESET, VERBS

pytest_plugins = ["harness.nvidia_fixtures"]

RUNC, CRUN = engines.RUNTIMES
SPACES = [RUNC, engines.MAPPED[1]]
SHOW = f"{PROBE} probe /dev/nvidia*"


@pytest.mark.parametrize("engine", SPACES, ids=str)
def test_every_capability(nv_box, machine, engine):
    """Each has its nodes and links, and each node opens; without them in the host's /dev too, but for those
    whose numbers stand nowhere else."""
    machine.add_others()
    for path in ("nvidia-modeset", "nvidia2", "dri/card1", "gdrdrv", "infiniband/uverbs0"):
        (machine.path / "dev" / path).unlink()
    box = nv_box("1", engine=engine)
    box.annotations[CAPABILITIES] = "all, gds,gdrcopy,mofed"
    out = started(box.run(f"{PROBE} cd /dev; probe $(find nvidia* dri infiniband gdrdrv -type c);"
                          " echo --; cd dri/by-path;"
                          " for l in *; do echo $l $(readlink $l) $(stat -Lc %t:%T $l); done;"
                          " stat -c '%a %u:%g %F' . .. ../../infiniband; ls /dev/dri"))
    gpu, (seen, links) = machine.gpus[1], out.split("--\n")
    expected = {path[5:]: each for path, each in given(gpu).items()}
    expected |= {"nvidia-modeset": node(MAJOR, MODESET), "gdrdrv": node(GDR, 0),
                 "dri/card1": node(DRM, gpu.card), "dri/renderD128": node(DRM, gpu.render),
                 "infiniband/rdma_cm": node(10, 58, "No such device")}  # this machine has the major number
    for number in range(2):
        expected |= {f"nvidia-fs{number}": node(FS, number),
                     f"infiniband/uverbs{number}": node(VERBS, 192 + number)}
    assert probed(seen) == expected
    path = f"pci-{gpu.address}"
    assert links.splitlines() == [f"{path}-card ../card{gpu.card} {DRM:x}:{gpu.card:x}",
                                  f"{path}-render ../renderD{gpu.render} {DRM:x}:{gpu.render:x}",
                                  *["755 0:0 directory"] * 3, "by-path", f"card{gpu.card}",
                                  f"renderD{gpu.render}"]


@pytest.mark.parametrize("engine", [RUNC], ids=str)
def test_imex_channels(nv_box, machine, engine):
    """Those that were asked for and no others, by the driver's number: the host's /dev has none. One that the host does
    not hand out stops the container."""
    machine.add_imex(8)
    machine.node("dev/channel", IMEX, 1)
    box = nv_box("1", "--allow-imex", "0-3", engine=engine)
    box.annotations[CHANNELS] = "3, 0"
    box.volume("/dev/other", machine.path / "dev/channel")
    directory = "/dev/nvidia-caps-imex-channels"
    out = started(box.run(f"{PROBE} probe {directory}/* /dev/other"))
    assert probed(out) == {**{f"{directory}/channel{n}": node(IMEX, n) for n in (0, 3)},
                           "/dev/other": node(IMEX, 1, DENIED)}
    box.annotations[CHANNELS] = "0,4"
    refused(box.run("true"), 5, "'4'", "(--allow-imex)", "0-3")


@pytest.mark.parametrize("engine", [CRUN], ids=str)
def test_with_plan_nothing_is_given(nv_box, machine, engine):
    box = nv_box("1", "--plan", engine=engine)
    box.volume("/dev/other", machine.path / "dev/nvidia2")
    out = started(box.run(f"{SHOW} /dev/other; ls /proc/driver/nvidia"))
    assert [(path, seen and seen.said) for path, seen in probed(out).items()] == [
        ("/dev/nvidia*", None), ("/dev/other", DENIED)]


@pytest.mark.parametrize("engine", [CRUN, engines.MAPPED[0]], ids=str)
def test_a_host_without_any_node(nv_box, machine, engine):
    """As one without a display that has just been started. Numbers and names are the driver's: what the host's /dev has
    is not asked."""
    shutil.rmtree(machine.path / "dev")
    (machine.path / "dev").mkdir()
    gpu, box = machine.gpus[1], nv_box("1", engine=engine)
    box.annotations[CAPABILITIES] = "compute,utility,graphics"
    assert probed(started(box.run(f"{SHOW} /dev/dri/[cr]*"))) == given(gpu) | {
        f"/dev/dri/card{gpu.card}": node(DRM, gpu.card), f"/dev/dri/renderD{gpu.render}": node(DRM, gpu.render)}


FORGED = {
    "symlink": lambda path: path.symlink_to("nvidia1"), "plain file": lambda path: path.write_text(""),
    "block device": lambda path: os.mknod(path, stat.S_IFBLK | 0o666, os.makedev(MAJOR, 2)),
    "195:1": lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(MAJOR, 1)),
    "directory": lambda path: path.mkdir(), "FIFO": os.mkfifo}


@in_turns("kind", FORGED, "engine")
def test_h8_a_node_of_the_host_that_is_not_the_drivers(nv_box, machine, scratch, engine, kind):
    """cve_2025_31133: what the name leads to is not what was asked for. Nothing is given at all."""
    path = machine.path / "dev/nvidia2"
    path.unlink()
    FORGED[kind](path)
    box = nv_box("1", engine=engine)
    box.volume("/dev/other", machine.path / "dev/nvidia-uvm")
    in_vain(box, scratch / "status")
    result = box.run(f"{SHOW} /dev/other; ls /proc/driver/nvidia")
    seen = probed(started(result))
    assert seen == {"/dev/nvidia*": None, "/dev/other": seen["/dev/other"]}
    assert seen["/dev/other"].said == DENIED
    assert (scratch / "status").read_text() == "6\n"
    told(result, f"'{path}'", "195:2", {"plain file": "no device"}.get(kind, kind))


SHAPES = {
    "nvidia2": ["mknod -m 600 nvidia2 c 1 3", "mkfifo nvidia2", "mknod -m 666 nvidia2 b 195 2"],
    "nvidiactl": ["ln -s /etc/passwd nvidiactl", "echo x > nvidiactl", "ln -s nowhere nvidiactl"],
    "nvidia-uvm": ["mkfifo nvidia-uvm", "mknod -m 600 nvidia-uvm c 510 0", "ln -s nvidia-uvm nvidia-uvm"],
    "nvidia-uvm-tools": ["mknod -m 666 nvidia-uvm-tools c 510 1"] * 3}


@in_turns("number", range(3), "engine", among=(RUNC, CRUN))
def test_what_is_in_the_containers_dev_is_not_believed(nv_box, machine, scratch, engine, number):
    """The right node stays if everyone may open it, all else of that name is replaced, and never opened: a
    FIFO would wait."""
    box = nv_box("1", engine=engine)
    box.annotations[CAPABILITIES] = "compute,graphics"
    shapes = "; ".join(shape[number] for shape in SHAPES.values())
    link = f"dri/by-path/pci-{machine.gpus[1].address}"
    inodes = f"stat -c %i nvidia-uvm-tools {link}-render"
    box.first.append(in_the_container(
        f'cd "$ROOT/dev"; umask 0; {shapes}; mkdir -p dri/by-path; ln -s ../card9 {link}-card;'
        f' ln -s ../renderD128 {link}-render; {inodes} > "{scratch}/inodes"'))
    passwd = (box.rootfs / "etc/passwd").read_text()
    out = started(box.run(f"cd /dev; {inodes}; readlink {link}-card; {SHOW}"))
    tools, render, card, *seen = out.splitlines()
    assert f"{tools}\n{render}\n" == (scratch / "inodes").read_text()
    assert card == f"../card{machine.gpus[1].card}"
    assert probed("\n".join(seen)) == given(machine.gpus[1])
    assert (box.rootfs / "etc/passwd").read_text() == passwd


@pytest.mark.parametrize("engine", engines.MAPPED[:1], ids=str)
def test_in_a_user_namespace_what_the_image_has_stays_below(nv_box, engine):
    """There a node is mounted: over a file of any content."""
    box = nv_box("1", engine=engine)
    without_dev(box)
    (box.rootfs / "dev/nvidia2").write_text("of the image")
    assert probed(started(box.run(SHOW)))["/dev/nvidia2"] == node(MAJOR, 2)
    assert (box.rootfs / "dev/nvidia2").read_text() == "of the image"
