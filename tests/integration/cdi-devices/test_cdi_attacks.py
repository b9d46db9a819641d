# SPDX-License-Identifier: Apache-2.0
"""Attacks by an image on the paths that a specification names, by the numbers of their CVEs: mounts, links and the
loader's files. Those on /dev are in every-hook/test_attacks_on_dev.py. Outside the root nothing changes."""

import os
from functools import partial

import pytest

from harness import debian_root, engines
from harness.expect import refused_by, started
from harness.ldcache import in_the_container
from harness.source import tree
from harness.turns import SPACES

pytest_plugins = ["harness.nvidia_fixtures", "harness.cdi_fixtures"]

refused = partial(refused_by, "cdi-devices")
RUNC = engines.RUNTIMES[0]
CLIMB = "../../../../../../../../../../../../../../.."
STATE, LIBRARY, LINK = "/var/lib/vendor", "/usr/lib/vendor/libgpu.so.1", "/usr/lib/vendor/libgpu.so"
PROFILE = "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf"


def hook(*args):
    return {"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": ["nvidia-cdi-hook", *args]}


@pytest.fixture(name="outside")
def outside_fixture(scratch):
    """A directory of the host with all that the hook looks for in a container."""
    outside = scratch / "outside"
    for name in ("lib/vendor", "usr/lib/vendor", "nvidia/nvidia-application-profiles-rc.d"):
        (outside / name).mkdir(parents=True)
    for name in ("lib/vendor/file", "usr/lib/vendor/libgpu.so.1", "usr/lib/vendor/libgpu.so", "libgpu.so.1",
                 "nvidia/nvidia-application-profiles-rc.d/10-container.conf"):
        (outside / name).write_text("of the host, too\n")
    before = tree(outside)
    yield outside
    assert tree(outside) == before


@pytest.fixture(name="box", params=SPACES, ids=str)
def box_fixture(request, cdi_box, cdi_gpu):
    """It is given a directory, a library and a link to that one, and a profile."""
    cdi_gpu.device("nvidia0", 3)
    cdi_gpu.spec("more.json", {"more": {
        "deviceNodes": [{"path": "/dev/nvidia0"}],
        "hooks": [hook("create-symlinks", "--link", f"libgpu.so.1::{LINK}"), hook("update-application-profile"),
                  hook("update-ldcache", "--folder", "/usr/lib/vendor")]}})
    box = cdi_box("vendor.com/gpu=0, vendor.com/gpu=more", engine=request.param)
    debian_root.add_glibc(box.rootfs)
    return box


def works(box):
    out = started(box.run(f"cat {STATE}/file {LIBRARY}; readlink {LINK}; grep -c EGL {PROFILE}"))
    assert out == "of the host\nof the host\nlibgpu.so.1\n1\n"


def test_without_any_of_it_works(box):
    """Else all of this would show nothing."""
    works(box)


@pytest.mark.parametrize("place, name, words", [
    ("var/lib", "lib", "/var/lib"), ("usr/lib/vendor", "usr/lib/vendor", "/usr/lib/vendor"), ("etc/nvidia", "nvidia", "/etc/nvidia")])
@pytest.mark.parametrize("climb", ["", CLIMB], ids=["absolute", "climb"])
def test_cve_2019_19921_cve_2021_30465_a_directory_on_the_way_is_a_link_out(box, outside, place, name, words, climb):
    """It leads to a place in the root, or to nowhere."""
    path = box.rootfs / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.rename(path.with_name("away"))
    path.symlink_to(f"{climb}{outside / name}")
    refused(box.run("true"), 1, words)


def test_cve_2019_19921_it_becomes_one_when_the_runtime_has_done_its_work(box, outside):
    (box.rootfs / "var/lib").mkdir(parents=True, exist_ok=True)
    box.first.append(in_the_container(f'mv "$ROOT/var/lib" "$ROOT/away"; ln -s "{outside}/lib" "$ROOT/var/lib"'))
    refused(box.run(), 1, "/var/lib")


def test_cve_2024_21626_cve_2019_14271_a_link_in_a_mounts_place_is_not_followed_out(box, outside):
    """Through a link in the place of a file or a directory the mount is made inside, or not at all."""
    for path, name in ((LIBRARY, "libgpu.so.1"), (STATE, "lib/vendor")):
        place = box.rootfs / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(f"{CLIMB}{outside / name}")
    refused(box.run(), 1, STATE)


def test_cve_2024_0132_the_target_of_a_link_is_the_specifications(box, outside):
    """What the image has in the place of a link or of the profile is replaced, and not opened."""
    for path, target in ((LINK, outside / "libgpu.so.1"),
                         (PROFILE, outside / "nvidia/nvidia-application-profiles-rc.d/10-container.conf")):
        place = box.rootfs / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(f"{CLIMB}{target}")
    works(box)


@pytest.mark.parametrize("path, make", [(LIBRARY, "directory"), (STATE, "file"), (STATE, "FIFO"), (LINK, "directory")])
def test_h7_something_else_has_the_name(box, path, make):
    """What was made before it is noticed is gone again."""
    place = box.rootfs / path[1:]
    place.parent.mkdir(parents=True, exist_ok=True)
    {"directory": os.mkdir, "FIFO": os.mkfifo, "file": lambda path: path.write_text("mine")}[make](place)
    before = tree(box.rootfs / "var"), tree(box.rootfs / "etc")
    refused(box.run(), 1, path)
    assert (tree(box.rootfs / "var"), tree(box.rootfs / "etc")) == before


@pytest.mark.parametrize("destination", ["/var/lib", "/usr/lib/vendor"])
def test_nothing_is_made_in_a_volume(box, scratch, destination):
    volume = scratch / "volume"
    volume.mkdir()
    (box.rootfs / destination[1:]).mkdir(parents=True)
    box.volume(destination, volume)
    refused(box.run(), 1, destination)
    assert list(volume.iterdir()) == []


def test_what_config_json_mounts_at_the_place_is_covered(box, scratch):
    """As where an engine resolves the specification: its mounts come after."""
    (scratch / "volume").mkdir()
    (box.rootfs / STATE[1:]).mkdir(parents=True)
    (scratch / "volume/file").write_text("of the volume\n")
    box.volume(STATE, scratch / "volume", "rprivate")
    works(box)


def test_paths_of_a_specification_that_are_closed(cdi_box, cdi_host):
    """On or above what engines and this collection need; however they are written."""
    source = {"hostPath": "/opt/vendor", "options": ["ro", "rbind"]}
    closed = ["/", "//", "/proc", "/proc/sys", "/sys/fs", "/usr", "/usr/local/nvidia", "/dev", "/dev/./pts",
              "/etc", "/etc/hosts", "/run", "/./proc//self"]
    cdi_host.spec("closed.json", {str(number): {"mounts": [{**source, "containerPath": path}]}
                                  for number, path in enumerate(closed)})
    for number, path in enumerate(closed):
        refused(cdi_box(f"vendor.com/gpu={number}").run(), 5, f"'{path}'", "that is not done")
