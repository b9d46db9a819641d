# SPDX-License-Identifier: Apache-2.0
"""Targets on what config.json itself mounts: volumes, tmpfs, shared mounts."""

from pathlib import Path

import pytest

from harness import mounts
from harness.expect import refused, started
from harness.source import tree

READ = "cat /srv/datasets/words"
WORDS = "words of datasets\n"


@pytest.fixture(name="volume")
def volume_fixture(scratch):
    """A directory of the host that the container has as a volume."""
    volume = scratch / "volume"
    volume.mkdir()
    (volume / "own").write_text("of the volume\n")
    return volume


@pytest.fixture(name="box")
def box_fixture(srv, new_box):
    srv.directory("datasets")
    return new_box("all")


@pytest.mark.parametrize("target, volume_at, options, place", [
    ("/srv", "/srv", ("rbind",), "/srv/datasets"), ("/srv", "/srv", ("rbind", "ro"), "/srv/datasets"),
    ("/srv", "/srv", ("bind", "rprivate"), "/srv/datasets"), ("/data/deep/in", "/data", ("rbind",), "/data/deep"),
    ("/link", "/data", ("rbind",), "/link/datasets")])
def test_nothing_is_made_in_a_volume(srv, new_box, volume, target, volume_at, options, place):
    """Nor in one above the target, or that a link leads into."""
    srv.directory("datasets")
    box = new_box("all", "--target-dir", target)
    (box.rootfs / "data").mkdir()
    (box.rootfs / "link").symlink_to("/data")
    box.bundle.mount(volume_at, volume, *options)
    before = tree(volume)
    refused(box.run(), None, place)
    assert tree(volume) == before


def test_a_volume_of_the_roots_own_filesystem_is_still_a_volume(box):
    """Same device, even the same directory: only the mount tells them apart."""
    (box.rootfs / "elsewhere").mkdir()
    box.bundle.mount("/srv", box.rootfs / "elsewhere", "bind")
    refused(box.run(), None, "/srv/datasets")
    assert list((box.rootfs / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("options", [("rbind",), ("rbind", "ro"), ("rbind", "rslave")])
def test_a_directory_of_a_volume_is_mounted_over(box, volume, options):
    (volume / "datasets").mkdir()
    (volume / "datasets/own").write_text("of the volume\n")
    box.bundle.mount("/srv", volume, *options)
    before = tree(volume)
    assert started(box.run(f"ls /srv /srv/datasets; {READ}")) == (
        f"/srv:\ndatasets\nown\n\n/srv/datasets:\nwords\n{WORDS}")
    assert tree(volume) == before


def test_a_volume_at_the_directory_itself_is_mounted_over(box, volume):
    box.bundle.mount("/srv/datasets", volume, "rbind", "rprivate")
    before = tree(volume)
    assert started(box.run(READ)) == WORDS
    assert tree(volume) == before


def test_a_volume_beside_the_directories_stays(box, volume):
    box.bundle.mount("/srv/mine", volume, "rbind", "rprivate")
    assert started(box.run(f"cat /srv/mine/own; {READ}; touch /srv/mine/new")) == (
        f"of the volume\n{WORDS}")
    assert (volume / "new").exists()


def test_a_tmpfs_of_the_container_works(box):
    box.bundle.mount("/srv", "tmpfs", "nosuid", "mode=755", fstype="tmpfs")
    assert started(box.run(f"{READ}; ls /srv; touch /srv/mine")) == f"{WORDS}datasets\n"


def test_a_tmpfs_of_the_host_is_a_volume(box, host, scratch):
    (scratch / "memory").mkdir()
    host.mount("-t", "tmpfs", "tmpfs", scratch / "memory")
    box.bundle.mount("/srv", scratch / "memory", "rbind")
    refused(box.run(), None, "/srv/datasets")
    assert host.run(["ls", "-A", scratch / "memory"]).stdout == ""


def look_at_mounts(copy):
    """A hook that only looks: it copies the mount table of the container's init."""
    script = f"pid=$(sed 's/.*\"pid\":\\([0-9]*\\).*/\\1/'); cat /proc/$pid/mountinfo > {copy}"
    return {"path": "/bin/sh", "args": ["sh", "-c", script], "env": ["PATH=/usr/bin:/bin"]}


@pytest.fixture(name="btrfs")
def btrfs_fixture(host, scratch):
    """A btrfs of the host with a directory and a subvolume. There stat(2) tells other device numbers
    than the mount table does."""
    if "\tbtrfs\n" not in Path("/proc/filesystems").read_text(encoding="ascii"):
        pytest.skip("this kernel has no btrfs")
    image, point = scratch / "btrfs.image", scratch / "btrfs"
    point.mkdir()
    host.run(["truncate", "--size=128M", image])
    host.run(["mkfs.btrfs", "--quiet", image])
    host.mount("-o", "loop", image, point)
    host.run(["mkdir", point / "directory"])
    host.run(["btrfs", "subvolume", "create", point / "subvolume"])
    return point


@pytest.mark.parametrize("name", ["directory", "subvolume"])
def test_nothing_is_made_in_a_volume_on_btrfs(box, host, btrfs, name):
    box.bundle.mount("/srv", btrfs / name, "rbind", "rprivate")
    result = box.run()
    assert host.run(["ls", "-A", btrfs / name]).stdout == ""
    refused(result, None, "/srv/datasets")


def test_directories_on_btrfs_are_given_once(box, host, btrfs):
    """A second run knows its own mounts there too."""
    host.run(["sh", "-c", 'echo words of datasets > "$0/words"', btrfs / "subvolume"])
    host.mount("--bind", btrfs / "subvolume", box.args[1] / "datasets")
    box.times = 2
    assert started(box.run(READ)) == WORDS
    assert len(box.mounts()) == 1


@pytest.mark.parametrize("option, root", [("rshared", None), ("rshared", "rslave"),
                                          ("rshared", "rshared"), (None, "rshared")])
def test_a_shared_target_is_refused(box, volume, host, option, root):
    """With the last two the host would see our mount, and keep it when the container is gone."""
    (volume / "datasets").mkdir()
    host.mount("--bind", volume, volume)
    box.bundle.mount("/srv", volume, "rbind", *([option] if option else []))
    if root:
        box.config["linux"]["rootfsPropagation"] = root
    seen = volume.parent / "seen"
    box.first = [look_at_mounts(seen)]
    before = tree(volume)
    refused(box.run(), None, "/srv")
    assert tree(volume) == before
    target = [m for m in mounts.parse(seen.read_text()) if m.point == f"{box.rootfs}/srv"][-1]
    assert any(word.startswith("shared:") for word in target.propagation), "not shared: no test"


@pytest.mark.parametrize("root", ["rslave", "rprivate", "rshared"])
def test_any_propagation_of_the_root_keeps_the_host_clean(srv, new_box, root):
    srv.directory("datasets")
    box = new_box("all")
    box.config["linux"]["rootfsPropagation"] = root
    assert started(box.run(READ)) == WORDS


def test_a_host_whose_mounts_are_private(box, host):
    """As in initramfs and in many containers; elsewhere the tests' host is all shared."""
    host.mount("--make-rprivate", "/")
    assert [mount.propagation for mount in box.mounts()] == [()]
