# SPDX-License-Identifier: Apache-2.0
"""Somebody exchanges directories of the loader's files for links out while ldcache-update is at work, as for
CVE-2024-0134 and CVE-2026-24260. Whenever it hits, the work happens inside, or the container does not
start; outside nothing changes. RACE_SECONDS: for how long each race goes on."""

import shutil

import pytest

from harness import debian_root
from harness.exchange import rounds, running
from harness.ldcache import CACHE, CONF, read, refused, write
from harness.source import tree
from harness.turns import SPACES, in_turns

pytest_plugins = ["harness.ldcache_fixtures"]

# What is exchanged for a link, and the directory outside that the link leads to.
PLACES = {"etc": "etc", "etc/ld.so.conf.d": "etc/ld.so.conf.d", "opt/driver": "driver", "opt": "opt"}
FILES = {CACHE: "etc/ld.so.cache", CONF: "etc/ld.so.conf", "etc/ld.so.conf": "etc/ld.so.conf"}


@pytest.fixture(name="outside")
def outside_fixture(scratch, shop):
    """What would be written to, or named in the cache, if the hook were led out."""
    outside = scratch / "outside"
    (outside / "etc/ld.so.conf.d").mkdir(parents=True)
    (outside / "etc/ld.so.conf").write_text("# of the host\n")
    (outside / "etc/ld.so.cache").write_bytes(write([]))
    for directory in ("driver", "opt/driver"):
        shop.library(outside / directory / "libsecret.so.1", "libsecret.so.1")
    before = tree(outside)
    yield outside
    assert tree(outside) == before


@pytest.fixture(name="box", params=SPACES, ids=str)
def box_fixture(request, small_box, shop):
    """A busybox image with glibc, and a directory of libraries that is its own."""
    box = small_box("/opt/driver", engine=request.param)
    shop.versioned(box.rootfs / "opt/driver", "libgpu.so.1")
    box.timeout = 20
    return box


def run(box):
    """A round; gives whether the hook did its work, or None if the runtime itself was hit."""
    result = box.start("echo started").finish()
    box.host.check()
    if result.code == 0:
        return True
    if result.hook_status is None:
        return None
    refused(result)
    assert result.hook_status in (1, 3), result.said
    return False


def restore(directory, link):
    """Both under their own names again."""
    if directory.is_symlink():
        target = directory.readlink()
        directory.unlink()
        link.rename(directory)
        link.symlink_to(target)


@in_turns("place", PLACES)
def test_cve_2024_0134_cve_2026_24260_a_directory_against_a_link(box, outside, place):
    """To a directory outside that has all that the hook looks for."""
    link = (box.rootfs / place).with_name("exchanged")
    link.symlink_to(outside / PLACES[place])
    original = shutil.copytree(box.rootfs / "etc", box.bundle.directory / "etc", symlinks=True)
    ended = []
    for _ in rounds():
        with running(box.rootfs / place, link):
            ended.append(run(box))
        restore(box.rootfs / place, link)
        names = [entry.name for entry in read((box.rootfs / CACHE).read_bytes())]
        # Of an image without /etc, which it may have looked like for a moment, the directory is all there is.
        assert "libsecret.so.1" not in names and (len(names) > 5 or names == ["libgpu.so.1"]), names
        shutil.copy(original / "ld.so.cache", box.rootfs / CACHE)
        (box.rootfs / CONF).unlink(missing_ok=True)
    assert set(ended) != {None}, ended


@in_turns("place", FILES)
def test_cve_2025_23267_a_file_against_a_link(box, outside, place):
    link = box.rootfs / "etc/exchanged"
    link.symlink_to(outside / FILES[place])
    if not (box.rootfs / place).exists():
        (box.rootfs / place).write_text("/usr/local/special\n")
    ended = []
    with running(box.rootfs / place, link):
        for _ in rounds():
            ended.append(run(box))
    assert set(ended) != {None}, ended


@pytest.mark.parametrize("box", SPACES[1:], ids=str, indirect=True)
def test_a_library_against_a_link(box, outside):
    """Its name may be in the cache as long as it is a file of the image's; never what is outside."""
    link = box.rootfs / "opt/driver/libother.so.1"
    link.symlink_to(outside / "driver/libsecret.so.1")
    with running(box.rootfs / "opt/driver/libgpu.so.9.8.7", link):
        for _ in rounds():
            assert run(box) is not None
            names = [entry.name for entry in read((box.rootfs / CACHE).read_bytes())]
            assert "libsecret.so.1" not in names, names


@pytest.mark.parametrize("engine", SPACES[:1], ids=str)
def test_hooks_at_the_same_time_over_one_image(small_box, shop, engine):
    """Each writes files of its own name first; what is left is whole, and all of it is there."""
    box = small_box("/opt/driver", engine=engine)
    shop.versioned(box.rootfs / "opt/driver", "libgpu.so.1")
    own = len(debian_root.ldconfig(box.rootfs, "-p").splitlines())
    for _ in rounds():
        first = box.start("echo started")
        together = [first, *(box.runtime.start(box.host, box.bundle) for _ in range(3))]
        results = [each.finish() for each in together]
        assert not [result for result in results if result.hook_status], results
        names = [entry.name for entry in read((box.rootfs / CACHE).read_bytes())]
        assert names.count("libgpu.so.1") == 1 and len(names) > own // 2, names
        left = {path.name for path in (box.rootfs / "etc").iterdir()}
        assert not [name for name in left if name.startswith((".", "ld.so.cache~"))], left
        (box.rootfs / CONF).unlink()
