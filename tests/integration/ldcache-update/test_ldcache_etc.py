# SPDX-License-Identifier: Apache-2.0
"""What becomes of /etc: the files that a later ldconfig reads, and volumes there, into which nothing is
written."""

import shutil

import pytest

from harness import engines
from harness.debian_root import ldconfig
from harness.expect import started
from harness.ldcache import CACHE, CONF, listed, refused, snapshot
from harness.source import tree

pytest_plugins = ["harness.ldcache_fixtures"]

PROBE = "/probe libgpu.so.1 libz.so.1"
FOUND = "libgpu.so.1 /srv/driver/libgpu.so.1\nlibz.so.1 /srv/driver/libz.so.1\n"
LD_SO_CONF = "etc/ld.so.conf"
OURS = f"include /{CONF}\n"


@pytest.fixture(name="box")
def box_fixture(srv_box):
    return srv_box()


def again(box):
    """The loader finds the directory at once, and also when the container's own ldconfig has run."""
    assert started(box.run(f"{PROBE}; rm /{CACHE}; ldconfig; {PROBE}")) == FOUND * 2


@pytest.mark.parametrize("text", [
    "include /etc/ld.so.conf.d/*.conf\n", "include ld.so.conf.d/*.conf\n",
    "# of the image\n\ninclude\t/etc/ld.so.conf.d/*.conf\n/usr/local/special\n",
    "include /etc/nowhere/*.conf /etc/ld.so.conf.d/*.conf", f"include /{CONF}\n",
    "  include /etc/ld.so.conf.d/0*.conf # comment\n"], ids=repr)
def test_a_conf_that_reads_the_drop_in_is_left_as_it_is(box, text):
    (box.rootfs / LD_SO_CONF).write_text(text)
    before = (box.rootfs / LD_SO_CONF).stat()
    again(box)
    after = (box.rootfs / LD_SO_CONF).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize("text", [
    "", "/usr/local/special\n", "/usr/local/special", "# include /etc/ld.so.conf.d/*.conf\n",
    "include /etc/other.d/*.conf\n/usr/local/special\n", "include /etc/ld.so.conf.d/x*.conf\n",
    "hwcap 0 nosegneg\n/usr/local/special\r\n", "# caf\xe9\n/usr/local/special\n"], ids=repr)
def test_a_conf_that_does_not_read_it_gets_a_line_and_loses_none(box, text):
    path = box.rootfs / LD_SO_CONF
    path.write_bytes(text.encode("latin-1"))
    path.chmod(0o640)
    again(box)
    assert path.read_bytes() == OURS.encode() + text.encode("latin-1")
    assert path.stat().st_mode & 0o777 == 0o600 and path.stat().st_uid == 0


def test_what_the_conf_has_is_still_read(box, shop):
    """Behind the directory."""
    (box.rootfs / LD_SO_CONF).write_text("/usr/local/special\n")
    shop.library(box.rootfs / "usr/local/special/libspecial.so.1", "libspecial.so.1")
    shop.library(box.rootfs / "usr/local/special/libz.so.1", "libz.so.1")
    ldconfig(box.rootfs)
    probe = "/probe libspecial.so.1 libz.so.1"
    found = "libspecial.so.1 /usr/local/special/libspecial.so.1\nlibz.so.1 /srv/driver/libz.so.1\n"
    assert started(box.run(f"{probe}; ldconfig; {probe}")) == found * 2


@pytest.mark.parametrize("gone", [[LD_SO_CONF], ["etc/ld.so.conf.d"], [LD_SO_CONF, "etc/ld.so.conf.d"],
                                  [CACHE], [CACHE, LD_SO_CONF, "etc/ld.so.conf.d"]], ids=",".join)
def test_what_is_not_there_is_made(box, gone):
    for name in gone:
        path = box.rootfs / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    again(box)
    made = [box.rootfs / name for name in (CACHE, CONF, LD_SO_CONF)]
    assert [path.stat().st_mode & 0o7777 for path in made] == [0o644] * 3
    assert (box.rootfs / "etc/ld.so.conf.d").stat().st_mode & 0o7777 == 0o755


def test_no_etc_at_all(box):
    """A small image whose loader is all that it has; the directory is made as the container's root."""
    shutil.rmtree(box.rootfs / "etc")
    again(box)


def test_the_cache_is_replaced_not_written_into(box):
    """A hard link to it, as of an image store on the same filesystem, keeps its content."""
    (box.rootfs / "link").hardlink_to(box.rootfs / CACHE)
    before = (box.rootfs / "link").read_bytes()
    names = set(tree(box.rootfs / "etc"))
    assert started(box.run(PROBE)) == FOUND
    assert (box.rootfs / "link").read_bytes() == before
    assert (box.rootfs / CACHE).stat().st_nlink == 1
    assert {str(path) for path in set(tree(box.rootfs / "etc")) - names} == {CONF.removeprefix("etc/")}


@pytest.mark.parametrize("name, content", [(CACHE, None), (LD_SO_CONF, "/usr/local/special\n")])
def test_a_link_inside_the_image_is_read_and_its_name_replaced(box, name, content):
    """As ldconfig does with its cache."""
    (box.rootfs / "data").mkdir()
    (box.rootfs / name).rename(box.rootfs / "data/file")
    if content:
        (box.rootfs / "data/file").write_text(content)
    (box.rootfs / name).symlink_to("/data/file")
    before = (box.rootfs / "data/file").read_bytes()
    own = listed(ldconfig(box.rootfs, "-p"))
    out = started(box.run(f"{PROBE}; ldconfig -p"))
    assert out.startswith(FOUND)
    assert [entry for entry in listed(out) if "/srv/" not in entry[2]] == own
    assert (box.rootfs / "data/file").read_bytes() == before
    assert not (box.rootfs / name).is_symlink()


@pytest.fixture(name="volume")
def volume_fixture(box, scratch):
    """A directory of the host with the image's /etc in it."""
    shutil.copytree(box.rootfs / "etc", scratch / "volume", symlinks=True)
    return scratch / "volume"


@pytest.mark.parametrize("options", [("rbind", "rprivate"), ("rbind", "rprivate", "ro")])
def test_in_an_etc_that_is_a_volume_the_cache_is_mounted_over(box, volume, options):
    box.bundle.mount("/etc", volume, *options)
    before, image = tree(volume), tree(box.rootfs / "etc")
    script = f"{PROBE}; grep -c ' /etc/ld' /proc/self/mountinfo"
    assert started(box.run(script)) == f"{FOUND}1\n"
    assert tree(volume) == before and tree(box.rootfs / "etc") == image


def test_a_second_run_does_not_mount_again(box, volume, scratch):
    box.bundle.mount("/etc", volume, "rbind", "rprivate")
    box.first += [box._entry(), snapshot(scratch / "1")]  # pylint: disable=protected-access
    box.last = [snapshot(scratch / "2")]
    assert started(box.run(PROBE)) == FOUND
    assert (scratch / "1").read_text() == (scratch / "2").read_text()


def test_a_cache_that_is_itself_a_volume_is_mounted_over(box, volume):
    box.bundle.mount(f"/{CACHE}", volume / "ld.so.cache", "bind", "rprivate")
    before = tree(volume)
    assert started(box.run(PROBE)) == FOUND
    assert tree(volume) == before


@pytest.mark.parametrize("engine", engines.RUNTIMES + engines.MAPPED, ids=str)
def test_a_volume_without_a_cache_is_refused(srv_box, scratch, engine):
    box = srv_box(engine=engine)
    (scratch / "empty").mkdir()
    box.bundle.mount("/etc", scratch / "empty", "rbind", "rprivate")
    image = tree(box.rootfs / "etc")
    message = refused(box.run(), 1, f"'/{CACHE}'")
    assert "volume" in message or "mount" in message, message
    assert not list((scratch / "empty").iterdir()) and tree(box.rootfs / "etc") == image


def test_a_volume_at_the_drop_in_directory_gets_nothing(box, scratch):
    """The cache is on the root, and replaced; what a later ldconfig does is the volume's matter."""
    shutil.copytree(box.rootfs / "etc/ld.so.conf.d", scratch / "volume")
    box.bundle.mount("/etc/ld.so.conf.d", scratch / "volume", "rbind", "rprivate")
    before = tree(scratch / "volume")
    result = box.run(PROBE)
    assert tree(scratch / "volume") == before
    assert started(result) == FOUND


def test_a_tmpfs_at_etc_is_the_containers_own(box):
    """What is made there goes with the container."""
    box.tmpfs("/etc")
    before = tree(box.rootfs / "etc")
    started(box.run(PROBE))
    assert tree(box.rootfs / "etc") == before
