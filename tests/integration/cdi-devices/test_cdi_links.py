# SPDX-License-Identifier: Apache-2.0
"""The links that a specification asks for by NVIDIA's create-symlinks, beside what podman makes of the very same one.
It runs the program that the specification names, here one that does what create-symlinks is said to be equal to:
`chroot ROOT ln -f -s TARGET LINK`, with the directories on the way. What it shows is what comes to this program, and what
becomes of links that it makes; NVIDIA's own is no package of Debian's."""

import json

import pytest

from harness import debian_root, engines
from harness.expect import started
from harness.nvidia_container import PROBE

pytest_plugins = ["harness.nvidia_fixtures", "harness.cdi_fixtures"]

VERSION, LIBRARIES, MAJOR = "555.42.06", "/usr/lib/x86_64-linux-gnu", 241
PROGRAM = """#!/usr/bin/python3
import json, os, sys
state = json.load(sys.stdin)
with open(state["bundle"] + "/config.json") as config:
    root = os.path.join(state["bundle"], json.load(config)["root"]["path"])
action, *words = sys.argv[1:]
with open(sys.argv[0] + ".called", "a") as called:
    called.write(action + "\\n")
if action == "create-symlinks":
    os.chroot(root)
    for target, link in (word.split("::") for word in words[1::2]):
        os.makedirs(os.path.dirname(link), exist_ok=True)
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(target, link)
"""
LINKS = {
    f"{LIBRARIES}/libcuda.so.1": f"libcuda.so.{VERSION}",  # beside what is mounted
    f"{LIBRARIES}/libcuda.so": "libcuda.so.1",
    f"{LIBRARIES}/gbm/nvidia-drm_gbm.so": "../libnvidia-allocator.so.1",  # in a directory that the image lacks
    "/usr/lib/xorg/modules/extensions/libglxserver_nvidia.so": f"libglxserver_nvidia.so.{VERSION}",
    "/opt/vendor/libcuda.so": f"{LIBRARIES}/libcuda.so",  # to an absolute path
    "/usr/lib/there.so": "libnew.so",  # in place of one that the image has
    "/usr/lib/same.so": "libsame.so",  # the image has the very same
    "/usr/lib/file.so": "libfile.so",  # in place of a file
    "/usr/lib-link/beyond.so": "../x.so",  # the directory is a symlink of the image's
    "/usr/lib-out/outside.so": "y.so",  # one to an absolute path
    f"{LIBRARIES}//twice.so": "twice.so.1",
    "/dev/dri/by-path/pci-0000:07:00.0-card": "../card1",
    "/dev/dri/by-path/pci-0000:07:00.0-render": "../renderD128",
}
# Where those lie that have another name as well.
PLACES = {"/usr/lib-link/beyond.so": "/usr/lib/beyond.so", "/usr/lib-out/outside.so": "/opt/outside.so",
          f"{LIBRARIES}//twice.so": f"{LIBRARIES}/twice.so"}
LOOK = ("find / -path /proc -prune -o -path /sys -prune -o -type l -print | sort | while read -r link; do"
        ' echo "$link $(readlink "$link")"; done')


def hook(program, *args):
    return {"hookName": "createContainer", "path": str(program), "args": [program.name, *args]}


@pytest.fixture(name="program")
def program_fixture(nv_host, scratch):
    """It lies where a specification in /etc/cdi names it, with all six of the vendor's hooks."""
    program = scratch / "bin/nvidia-cdi-hook"
    program.parent.mkdir()
    program.write_text(PROGRAM, encoding="ascii")
    program.chmod(0o755)
    for name in ("etc/cdi", "work", "driver"):
        (scratch / name).mkdir(parents=True)
    nv_host().mount("-t", "overlay", "-o", f"lowerdir=/etc,upperdir={scratch}/etc,workdir={scratch}/work", "overlay",
                    "/etc")
    library = f"libcuda.so.{VERSION}"
    (scratch / "driver" / library).write_text("of the driver\n", encoding="ascii")
    links = [word for link, target in LINKS.items() for word in ("--link", f"{target}::{link}")]
    nodes = [{"path": f"/dev/dri/{name}", "type": "c", "major": MAJOR, "minor": minor, "fileMode": 0o666}
             for name, minor in (("card1", 1), ("renderD128", 128))]
    mounts = [{"hostPath": f"{scratch}/driver/{library}", "containerPath": f"{LIBRARIES}/{library}",
               "options": ["ro", "nosuid", "nodev", "bind"]}]
    hooks = [hook(program, "create-symlinks", *links),
             hook(program, "create-symlinks", *links[:2]),  # once more
             hook(program, "enable-cuda-compat", f"--host-driver-version={VERSION}"),
             hook(program, "update-ldcache", "--folder", LIBRARIES), hook(program, "disable-device-node-modification"),
             hook(program, "update-application-profile"), hook(program, "chmod", "--mode", "755", "--path", "/dev/dri")]
    edits = {"deviceNodes": nodes, "mounts": mounts, "hooks": hooks}
    (scratch / "etc/cdi/vendor.json").write_text(json.dumps(
        {"cdiVersion": "0.5.0", "kind": "vendor.com/gpu", "devices": [{"name": "0", "containerEdits": edits}]}))
    return program


@pytest.fixture(name="make")
def make_fixture(cdi_box, program):
    """A function that makes a container of podman's, always of the same image, without what is to be in it."""
    def make(request, engine):
        box = cdi_box(request, engine=engine)
        box.args = []  # not below a directory: podman reads /etc/cdi
        root = debian_root.add_glibc(box.rootfs)
        for name, target in (("lib/there.so", "libold.so"), ("lib/same.so", "libsame.so"), ("lib-link", "lib"),
                             ("lib-out", "/opt")):
            (root / "usr" / name).symlink_to(target)
        (root / "usr/lib/file.so").write_text("of the image\n", encoding="ascii")
        (root / "opt").mkdir(exist_ok=True)
        return box
    return make


@pytest.mark.parametrize("engine", engines.PODMANS, ids=str)
def test_both_make_the_same_links(make, program, engine):
    theirs = make(None, engine)
    theirs.times = 0
    theirs.options += ["--device", "vendor.com/gpu=0"]
    look = f"{LOOK}; echo --; {PROBE} probe /dev/dri/card1 /dev/dri/renderD128; cat {LIBRARIES}/libcuda.so"
    made = started(theirs.run(look))
    called = program.with_name(f"{program.name}.called")
    assert len(called.read_text(encoding="ascii").split()) == 7
    called.unlink()
    given = started(make("vendor.com/gpu=0", engine).run(look))
    assert not called.exists(), "a program of a specification was run"
    links = dict(line.split(" ", 1) for line in given.split("--\n")[0].splitlines())
    assert made.endswith("of the driver\n") and given == made
    assert {link: links[PLACES.get(link, link)] for link in LINKS} == LINKS
