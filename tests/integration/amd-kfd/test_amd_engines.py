# SPDX-License-Identifier: Apache-2.0
"""One GPU of two under every engine: what ROCm opens works for root, for a user that an entrypoint drops to, for a
container that is another user's from the start, and for a later exec; the other GPU stays closed where the engine has
device rules."""

import pytest

from harness.amd_container import LINKS, SHOW, given, linked
from harness.expect import started, told
from harness.gpu_cells import CELLS, FEW
from harness.nvidia_container import ALLOWED, DENIED, PROBE, alive, probed
from hosts.amd import DRM

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

# As a user: what is there, and what ROCm makes of it. A user without a shell of his own has no function of root's.
LOOK = f"{SHOW}; echo --; hsakmt_probe || echo ROCm ends"


def box_with(cell, amd_box, machine, gpu, request):
    """A container that has the render node of this GPU from elsewhere; and what opening it must say."""
    name = f"dev/dri/renderD{gpu.render}"
    machine.node(name, DRM, gpu.render, 0o666)
    box = cell.box(amd_box, request)
    box.volume(f"/{name}", machine.path / name, *(["dev"] if cell.engine.podman else []))
    return box, DENIED if cell.rules else ALLOWED


def check(text, gpu, stranger, closed):
    """What LOOK has printed is right for somebody who has one GPU and the closed node of the other."""
    nodes, rocm = text.split("--\n")
    seen = probed(nodes)
    assert seen.pop(f"/dev/dri/renderD{stranger.render}").said == closed
    assert seen == given(gpu)
    passed = " passed over" if closed == DENIED else ""
    assert sorted(rocm.splitlines()) == sorted([f"renderD{gpu.render}", f"renderD{stranger.render}{passed}"])


@pytest.mark.parametrize("cell", [*FEW, CELLS[0], CELLS[3], CELLS[8]], ids=str)
def test_one_gpu_of_two(amd_box, amd_machine, cell):
    """GPU 0 is card2 and renderD129: who computed one number from another would give wrong ones. The rest of the
    cells is nvidia-devices'."""
    gpu, stranger = amd_machine.gpus
    assert (gpu.card, gpu.render, stranger.render) == (2, 129, 128)
    box, closed = box_with(cell, amd_box, amd_machine, stranger, "0")
    with alive(box, f"{LOOK}; echo ===; su user -c '{LOOK}'; echo ===; {LINKS}") as container:
        root, user, links = container.out.split("===\n")
        later = [container.exec(who, LOOK) for who in (0, 1000)]
    for text in (root, user, *later):
        check(text, gpu, stranger, closed)
    assert links == linked(gpu)


@pytest.mark.parametrize("cell", [CELLS[1], CELLS[5], CELLS[6]], ids=str)
def test_a_container_of_another_user(amd_box, amd_machine, cell):
    """Its program is never root: the nodes are for everyone, and no group of the host is needed."""
    gpu, stranger = amd_machine.gpus
    box, closed = box_with(cell, amd_box, amd_machine, stranger, "0")
    box.config["process"]["user"] = {"uid": 1000, "gid": 1000}
    box.config["process"]["capabilities"] = {}
    if cell.engine.podman:
        box.options += ["--user", "1000:1000", "--cap-drop", "all"]
    check(started(box.run(f"[ $(id -u) = 1000 ]; {LOOK}")), gpu, stranger, closed)


@pytest.mark.parametrize("cell", [CELLS[0], CELLS[2]], ids=str)
def test_a_node_made_inside_stays_closed(amd_box, amd_machine, cell):
    """The engines let a container make any node; to open one is another thing, also for ROCm, which goes on."""
    gpu, stranger = amd_machine.gpus
    box = cell.box(amd_box, "0")
    box.add_capability("CAP_MKNOD")
    name = f"renderD{stranger.render}"
    out = started(box.run(f"umask 0; mknod -m 666 /dev/dri/{name} c {DRM} {stranger.render}; {LOOK}"))
    check(out, gpu, stranger, DENIED)


def test_beside_the_engines_own_option(amd_box, amd_machine):
    """podman's --device brings nodes with the host's mode and owner: the hook's take their place."""
    box = CELLS[6].box(amd_box, "0")
    for name in ("kfd", "dri/card2", "dri/renderD129"):
        box.options += ["--device", f"{amd_machine.path}/dev/{name}:/dev/{name}"]
    box.options += ["--user", "1000:1000", "--cap-drop", "all"]
    nodes, rocm = started(box.run(LOOK)).split("--\n")
    assert probed(nodes) == given(amd_machine.gpus[0]) and rocm == "renderD129\n"


@pytest.mark.parametrize("cell", [CELLS[1], CELLS[5]], ids=str)
def test_both_of_them_and_a_container_that_did_not_ask(amd_box, amd_machine, cell):
    """One after the other: what the first one gets, the second has not, and not later either."""
    without, closed = box_with(cell, amd_box, amd_machine, amd_machine.gpus[0], None)
    without.loader = "concourse"
    with alive(without, SHOW) as container:
        before = container.out
        out = started(cell.box(amd_box, "0,1").start(f"{SHOW}; echo --; hsakmt_probe; echo --; {LINKS}").finish())
        after = container.exec(0, SHOW)
    nodes, rocm, links = out.split("--\n")
    assert probed(nodes) == given(*amd_machine.gpus) and rocm == "renderD128\nrenderD129\n"
    assert links == linked(*amd_machine.gpus)
    assert after == before
    seen = probed(before)
    assert seen.pop("/dev/dri/renderD129").said == closed and seen == {"/dev/kfd": None}


def test_what_the_log_says(amd_box, amd_machine):
    """The GPU that `all` leaves out; and without a cgroup of its own the container starts, and it is said."""
    result = CELLS[7].box(amd_box, "all").run(SHOW)
    assert probed(started(result)) == given(amd_machine.gpus[0])
    told(result, "device cgroup")
    told(result, amd_machine.gpus[1].address, "left out", "integrated", "'igpu'")


def test_the_probe_ends_where_rocm_would(amd_box):
    """Else it could not show that it does not: a node that only root may open ends it, one that is closed does not."""
    box = CELLS[2].box(amd_box, "0")
    box.add_capability("CAP_MKNOD")
    out = started(box.run(f"{PROBE} mknod -m 600 /dev/dri/renderD200 c {DRM} 129; su user -c hsakmt_probe || true;"
                          " rm /dev/kfd; hsakmt_probe || true"))
    assert out == "renderD129\n/dev/dri/renderD200: Permission denied\n/dev/kfd: No such file or directory\n"
