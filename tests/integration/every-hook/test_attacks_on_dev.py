# SPDX-License-Identifier: Apache-2.0
"""Attacks on /dev by an image, by the numbers of the CVEs in which runtimes fell for them, and the hostile images H3 to
H7 and H12, on the hooks that give nodes: in turns, for what makes a node is the same for both. Outside the root nothing
changes. RACE_SECONDS: how long each race goes on."""

import os
import shutil
from dataclasses import dataclass

import pytest

from harness import cdi_fixtures, engines
from harness.exchange import rounds, running
from harness.expect import refused_by
from harness.ldcache import in_the_container
from harness.nvidia_container import CAPABILITIES, without_dev
from harness.source import tree
from harness.turns import in_turns
from harness.unchanged import unchanged
from hosts.amd import DRM, KFD, XT
from hosts.nvidia import DRM as REAL_DRM
from hosts.nvidia import EIGHT, MAJOR

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures", "harness.cdi_fixtures"]

RUNC, CRUN = engines.RUNTIMES
CLIMB = "../../../../../../../../../../../../../../.."
DIRECTORY, DANGLING = "a directory inside", "nothing that a directory could be"
TARGETS = {"/": DIRECTORY, ".": DIRECTORY, "itself": DANGLING, "/nowhere/at/all": DANGLING, "/proc/self/root": DANGLING,
           "/proc/1/root/dev": DANGLING, "/proc/self/fd/3": DANGLING, "/proc/sys": DANGLING, "/etc/passwd": DANGLING,
           "41 others": DANGLING}


@dataclass(frozen=True)
class Hook:
    """One that gives nodes: which, in /dev, by their numbers; and to which PCI device those in dri belong."""

    name: str
    nodes: dict
    address: str

    def __str__(self):
        return self.name

    @property
    def first(self):
        """The node that is not in dri."""
        return next(iter(self.nodes))

    @property
    def look(self):
        """For a container's shell; through links, if there are any."""
        return f"cd /dev; stat -Lc '%a %t:%T' {' '.join(self.nodes)}; readlink dri/by-path/pci-{self.address}-card"

    @property
    def given(self):
        card = next(name for name in self.nodes if "card" in name)
        return "".join(f"666 {major:x}:{minor:x}\n" for major, minor in self.nodes.values()) + f"../{card[4:]}\n"


NVIDIA = Hook("nvidia-devices", {"nvidia2": (MAJOR, 2), "dri/card1": (REAL_DRM, 1), "dri/renderD128": (REAL_DRM, 128)},
              EIGHT[1].address)
AMD = Hook("amd-kfd", {"kfd": (KFD, 0), "dri/card2": (DRM, 2), "dri/renderD129": (DRM, 129)}, XT.address)
CDI = Hook("cdi-devices", {"gpu0": (cdi_fixtures.MAJOR, 0), "dri/card1": (cdi_fixtures.MAJOR, 1),
                           "dri/renderD130": (cdi_fixtures.MAJOR, 130)}, cdi_fixtures.ADDRESS)
# By runc; and by crun, with a user namespace, where a node is mounted and not made.
BOXES = [(NVIDIA, RUNC), (AMD, engines.MAPPED[1]), (AMD, RUNC), (NVIDIA, engines.MAPPED[1]), (CDI, RUNC),
         (CDI, engines.MAPPED[1])]
# Of all that the directory of the host has what would be made, were it somewhere in the host's root.
NAMES = [f"{directory}{name}" for directory in ("/", "/dev/") for hook in (NVIDIA, AMD, CDI)
         for name in ("by-path", *map(os.path.basename, hook.nodes))]

all_boxes = pytest.mark.parametrize("box", BOXES, ids=lambda box: f"{box[0]}-{box[1]}", indirect=True)


def each(names, values):
    """Each of the values with another hook, or another engine, than the one before."""
    return in_turns(names, values, among=BOXES)


@pytest.fixture(name="outside")
def outside_fixture(scratch):
    """A directory of the host with all that the hooks look for in a container, and times to compare."""
    outside = scratch / "outside"
    for name in ("dev/dri/by-path", "dri/by-path", "by-path"):
        (outside / name).mkdir(parents=True)
    for hook in (NVIDIA, AMD, CDI):
        for name in (*hook.nodes, *map(os.path.basename, hook.nodes), f"dev/{hook.first}"):
            (outside / name).write_text("of the host\n")
            (outside / name).chmod(0o600)
    with unchanged(outside, *NAMES):
        yield outside


@pytest.fixture(name="box")
def box_fixture(request):
    """Its /dev is a part of the image."""
    hook, engine = request.param
    if hook == NVIDIA:
        box = request.getfixturevalue("nv_box")("1", engine=engine)
        box.annotations[CAPABILITIES] = "compute,graphics"
        box.machine = request.getfixturevalue("machine")
    elif hook == CDI:
        box = request.getfixturevalue("cdi_box")("vendor.com/gpu=0", engine=engine)
        box.machine = request.getfixturevalue("cdi_gpu")
    else:
        box = request.getfixturevalue("amd_box")("0", engine=engine)
        box.machine = request.getfixturevalue("amd_machine")
    box.of_runtime = [mount for mount in box.config["mounts"] if mount["destination"].startswith("/dev")]
    without_dev(box)
    box.gives, box.mapped, box.timeout = hook, engine.mapped, 20
    return box


def refused(box, result, *words):
    return refused_by(box.gives.name, result, 1, *words)


def works(box):
    """The nodes are where they belong."""
    result = box.run(box.gives.look)
    assert result.code == 0 and result.out == box.gives.given, (result.out, result.err, result.said)


@all_boxes
def test_without_any_of_it_works(box):
    """Else all of this would show nothing."""
    works(box)


@each("climb", ["", CLIMB] * 3)
def test_cve_2026_41579_cve_2026_47766_h6_dev_is_a_link_out(box, outside, climb):
    """It becomes one when the runtime has done its work: these runtimes would fill the directory themselves."""
    box.first.append(in_the_container(f'mv "$ROOT/dev" "$ROOT/away"; ln -s "{climb}{outside}" "$ROOT/dev"'))
    refused(box, box.run(), "/dev")


@pytest.mark.parametrize("box", [BOXES[0]], ids=["nvidia-devices"], indirect=True)
def test_cve_2026_41579_cve_2026_47766_such_a_link_leads_to_a_directory_inside(box, outside):
    """In a root which has all that it names, that is where the nodes are made."""
    inside = f'"$ROOT{outside}"'
    box.first.append(in_the_container(
        f'mkdir -p {inside}; rmdir {inside}; mv "$ROOT/dev" {inside}; ln -s "{outside}" "$ROOT/dev"'))
    works(box)
    shutil.rmtree(box.rootfs / str(outside)[1:])


@all_boxes
def test_cve_2026_41579_cve_2026_47766_dev_of_the_image_is_a_link(box, outside):
    """For the runtime, too, which mounts its own /dev where that leads: there the nodes belong. These runtimes fail at an
    absolute link, which they follow on the host."""
    box.config["mounts"] += box.of_runtime
    shutil.rmtree(box.rootfs / "dev")
    (box.rootfs / "dev").symlink_to("var/devices")
    (box.rootfs / "var/devices").mkdir(parents=True)
    works(box)
    assert outside.exists() and os.readlink(box.rootfs / "dev") == "var/devices"
    assert not list((box.rootfs / "var/devices").iterdir()), "all of it is on the runtime's tmpfs"


@each("place, directory, climb", [("dri", "dri", ""), ("dri", "dri", CLIMB), ("dri/by-path", "by-path", CLIMB),
                               ("dri/by-path", "by-path", ""), ("dri", "", CLIMB)])
def test_h6_a_directory_of_dev_is_a_link_out(box, outside, place, directory, climb):
    path = box.rootfs / "dev" / place
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(f"{climb}{outside / directory}")
    refused(box, box.run(), "/dev/dri")


def chain(path):
    """A link to a directory through 40 others, one more than the kernel follows."""
    for number in range(41):
        path.with_name(f"{path.name}{number or ''}").symlink_to(f"{path.name}{number + 1}")
    path.with_name(f"{path.name}41").mkdir()


@each("place, target", [("dri/by-path" if number % 3 == 2 else "dri", target) for number, target in enumerate(TARGETS)])
def test_h3_h4_h5_h12_links_that_lead_nowhere_or_to_the_root(box, outside, place, target):
    path = box.rootfs / "dev" / place
    path.parent.mkdir(exist_ok=True)
    if target == "41 others":
        chain(path)
    else:
        path.symlink_to(path.name if target == "itself" else target)
    before = tree(box.rootfs / "etc")
    if TARGETS[target] == DIRECTORY:
        works(box)
    else:
        refused(box, box.run(), "/dev/dri")
    assert before.items() <= tree(box.rootfs / "etc").items() and outside.exists()


@each("climb", ["", CLIMB, CLIMB, ""])
def test_cve_2025_31133_cve_2025_52565_a_link_in_a_nodes_place_is_not_followed(box, outside, watch, climb):
    """Nothing that it leads to is opened, or gets another mode or owner; inside as little as outside."""
    copy = box.rootfs / str(outside)[1:]
    shutil.copytree(outside, copy)
    (box.rootfs / "dev/dri").mkdir()
    for name in box.gives.nodes:
        (box.rootfs / "dev" / name).symlink_to(f"{climb}{outside / name}")
    before = tree(copy)
    opened = watch(*(root / name for root in (copy, outside) for name in box.gives.nodes))
    works(box)
    assert opened() == [] and tree(copy) == before


@all_boxes
def test_cve_2025_31133_a_node_of_the_image_is_not_the_source_of_anything(box):
    """It has the name of the GPU, and the number of another."""
    image = f"../{box.bundle.directory.name}/rootfs/dev"
    *others, last = box.gives.nodes
    for name in others:
        box.machine.node(f"{image}/{name}", 1, 1, 0o600)
    major, minor = box.gives.nodes[last]
    box.machine.node(f"{image}/{last}", major, minor + 1, 0o600)
    works(box)


@each("number", [0, 1])
def test_h7_a_second_name_of_a_file_is_not_touched(box, outside, watch, number):
    """The name goes; what it was a name of keeps mode, owner and content."""
    (box.rootfs / "dev/dri").mkdir()
    files = [outside / name for name in list(box.gives.nodes)[number:]]
    for file in files:
        os.link(file, box.rootfs / "dev" / file.relative_to(outside))
    opened = watch(*files)
    works(box)
    assert opened() == []


@each("place, thing", [("first", "directory"), ("dri/renderD129", "directory"), ("dri", "file"), ("dri/by-path", "file"),
                       ("dri", "FIFO"), ("link", "directory")])
def test_h7_a_directory_for_a_node_and_a_file_for_a_directory(box, place, thing):
    """What is made before it is noticed is gone again."""
    place = {"first": box.gives.first, "link": f"dri/by-path/pci-{box.gives.address}-card"}.get(place, place)
    path = box.rootfs / "dev" / place
    path.parent.mkdir(exist_ok=True, parents=True)
    {"directory": os.mkdir, "FIFO": os.mkfifo, "file": lambda path: path.write_text("")}[thing](path)
    before = tree(box.rootfs / "dev")
    refused(box, box.run(), f"/dev/{place}")
    after = {name: found for name, found in tree(box.rootfs / "dev").items()
             if any(word in str(name) for word in ("kfd", "dri", "nvidia"))}
    assert after == before


@pytest.mark.parametrize("box, target", [(BOXES[3], "/etc/passwd"), (BOXES[1], "itself"), (BOXES[3], "/nowhere")],
                         ids=["nvidia-devices-file", "amd-kfd-itself", "nvidia-devices-nowhere"], indirect=["box"])
def test_in_a_user_namespace_a_link_in_a_nodes_place_stays_inside(box, target):
    """There a node is mounted, in this container alone: what a link leads to is mounted over, or it is refused."""
    path = box.rootfs / "dev" / box.gives.first
    path.symlink_to(path.name if target == "itself" else target)
    before, link = tree(box.rootfs / "etc"), os.readlink(path)
    if target == "/etc/passwd":
        works(box)
    else:
        refused(box, box.run(), f"/dev/{path.name}")
    assert before.items() <= tree(box.rootfs / "etc").items() and os.readlink(path) == link


@each("place, directory", [("dri", "dri"), ("dri/by-path", "by-path")])
def test_race_1_a_directory_of_dev_against_a_link_out(box, outside, place, directory):
    """Whenever it hits, the work happens inside, or the container does not start."""
    path = box.rootfs / "dev" / place
    path.mkdir(parents=True)
    link = path.with_name("exchanged")
    link.symlink_to(outside / directory)
    with running(path, link):
        for _ in rounds():
            result = box.start("true").finish()
            box.host.check()
            if result.code != 0:
                refused(box, result)
