# SPDX-License-Identifier: Apache-2.0
"""Attacks on tools that renew a container's loader cache, by the numbers of their CVEs, and the hostile
images H9 to H13 of the loader's files. Outside the root nothing changes; nothing of the image is run."""

import os
import re
import shutil

import pytest

from harness.debian_root import LOADER
from harness.expect import started
from harness.ldcache import CACHE, CONF, read, refused, write
from harness.source import tree
from harness.turns import SPACES, in_turns
from harness.unchanged import unchanged
from hosts import elf

pytest_plugins = ["harness.ldcache_fixtures"]

PROBE = "/probe libgpu.so.1"
FOUND = "libgpu.so.1 /srv/driver/libgpu.so.1\n"
LD_SO_CONF = "etc/ld.so.conf"
FILES = (CACHE, LD_SO_CONF, CONF)
PLACES = ("etc", "etc/ld.so.conf.d", *FILES)
CLIMB = "../../../../../../../../../../../../../.."


@pytest.fixture(name="outside")
def outside_fixture(scratch, driver):
    """Directories and files on the host that look like those of an image, with times to compare."""
    outside = scratch / "outside"
    (outside / "etc/ld.so.conf.d").mkdir(parents=True)
    for name in FILES:
        (outside / name).write_bytes(write([]) if name == CACHE else b"# of the host\n")
    shutil.copytree(driver, outside / "driver", symlinks=True)

    with unchanged(outside):
        yield outside


@pytest.fixture(name="box", params=SPACES, ids=str)
def box_fixture(request, srv_box):
    return srv_box(engine=request.param)


def remove(path):
    """What there is, if there is something."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def look(box, works, probe=PROBE, found=FOUND):
    """It works, inside, or the container is refused."""
    box.timeout = 20
    result = box.run(probe)
    if works:
        assert result.code == 0 and result.out == found, (result.out, result.err, result.said)
    else:
        refused(result, 1)


@in_turns("place, climb", [*((place, "") for place in PLACES), *((place, CLIMB) for place in PLACES)])
def test_cve_2025_23267_h1_h2_a_link_out_is_not_followed(box, outside, place, climb):
    remove(box.rootfs / place)
    (box.rootfs / place).symlink_to(f"{climb}{outside / place}")
    look(box, works=place in (*FILES, "etc/ld.so.conf.d"))


@in_turns("place", PLACES)
def test_cve_2025_23267_a_link_that_leads_to_such_a_directory_inside_stays_inside(box, outside, place):
    """The same link, in an image that has all that it names."""
    copy = box.rootfs / str(outside).lstrip("/")
    shutil.copytree(outside, copy)
    remove(box.rootfs / place)
    (box.rootfs / place).symlink_to(outside / place)
    look(box, works=True)


def of_the_machine():
    """Its loader's files, wherever they would be made in the real root."""
    paths = [os.path.join(directory, name) for directory in ("/", "/etc", "/etc/ld.so.conf.d")
             for name in os.listdir(directory) if "ld.so" in name or "oci-gpu-hooks" in name]
    return [(path, os.stat(path).st_ino, os.stat(path).st_mtime_ns) for path in sorted(paths)]


@pytest.mark.parametrize("place, target, works", [
    # A directory may be one inside; none is made.
    ("etc", "/", True), ("etc", ".", True), ("etc", "/proc/self/root/etc", False), ("etc", "/proc/1/root", False),
    ("etc", "/proc/self/fd/0", False), ("etc", "/nowhere/at/all", False), ("etc", "itself", False),
    ("etc/ld.so.conf.d", "/", True), ("etc/ld.so.conf.d", "itself", True),
    # The link is replaced where there is nothing to read, or something in the image's own directories.
    (CACHE, "/", False), (CACHE, ".", True), (CACHE, "/proc/self/root/etc", True), (CACHE, "/proc/1/root", True),
    (CACHE, "/proc/self/fd/0", True), (CACHE, "/nowhere/at/all", True), (CACHE, "itself", True),
    (LD_SO_CONF, "/nowhere/at/all", True), (CONF, ".", True)])
def test_cve_2025_23267_h3_h4_h5_h12_links_that_lead_nowhere_or_to_the_root(srv_box, outside, place, target, works):
    box = srv_box()
    before = of_the_machine()
    remove(box.rootfs / place)
    (box.rootfs / place).symlink_to(os.path.basename(place) if target == "itself" else target)
    look(box, works)
    assert outside.exists() and of_the_machine() == before


TRAP = """#!/bin/sh
echo "$0 $*" >> {mark}
echo "$0 $*" >> /mark
"""


@in_turns("traps", ["script", "link to the host's own"])
def test_cve_2024_0135_0136_0137_nothing_of_the_image_is_run(box, scratch, traps):
    """Not its ldconfig, not its loader, not its shell; nor the host's own ldconfig."""
    mark = scratch / "mark"
    program = scratch / "program"
    program.write_text(TRAP.format(mark=mark))
    program.chmod(0o755)
    for name in ("sbin/ldconfig", "sbin/ldconfig.real", "usr/local/sbin/ldconfig", "usr/bin/ldd", LOADER,
                 "usr/bin/env", "bin/bash", "usr/lib/x86_64-linux-gnu/libc.so.6"):
        (box.rootfs / name).parent.mkdir(parents=True, exist_ok=True)
        remove(box.rootfs / name)
        if traps == "script":
            shutil.copy(program, box.rootfs / name)
        else:
            (box.rootfs / name).symlink_to("/" + name)
    trace = scratch / "trace"
    box.wrapper = ("/usr/bin/strace", "-D", "-f", "-qq", "-o", trace, "-e", "trace=execve,execveat")
    # A loader that is a link to itself, as the host's is here, runs no program: the image has none.
    look(box, True, "echo started", "started\n")
    assert trace.read_text().count("exec") == 1, trace.read_text()
    assert not mark.exists() and not (box.rootfs / "mark").exists()


def test_cve_2025_23266_no_library_of_the_image_is_mapped(box, scratch):
    """The loader of the image and its libraries are read as data, if at all. A hook that is not static has the host's
    own, all before it looks at the container."""
    trace = scratch / "trace"
    box.wrapper = ("/usr/bin/strace", "-D", "-f", "-y", "-qq", "-o", trace, "-e", "trace=mmap,mprotect,openat2")
    assert started(box.run(PROBE)) == FOUND
    at_start, first_look, later = trace.read_text().partition("openat2(")
    assert first_look
    mapped = [re.findall(r"PROT_EXEC.*, \d+<(.*)>, ", part) for part in (at_start, later)]
    assert not [path for path in mapped[0] if path.startswith(str(scratch))] and mapped[1] == []


def test_cve_2024_0134_it_writes_to_its_own_new_files_alone(box, scratch):
    """Whatever it writes has no name that an image could have put something under before."""
    trace = scratch / "trace"
    calls = "write,writev,pwrite64,pwritev,pwritev2,sendfile,copy_file_range,ftruncate,truncate,openat2,openat"
    box.wrapper = ("/usr/bin/strace", "-D", "-f", "-y", "-qq", "-o", trace, "-e", f"trace={calls}")
    assert started(box.run(PROBE)) == FOUND
    text = trace.read_text()
    assert "O_TRUNC" not in text
    for line in re.findall(r"^.*O_CREAT.*$", text, re.MULTILINE):
        assert "O_EXCL" in line or "O_TMPFILE" in line, line


@in_turns("kind", ["link out", "plain"])
def test_what_the_image_has_in_the_directories_place_does_not_count(box, outside, shop, kind):
    """The directory is what the mount there shows, not what lies below it."""
    planted = box.rootfs / "srv/driver"
    planted.parent.mkdir(exist_ok=True)
    if kind == "plain":
        planted.mkdir()
        shop.library(planted / "libgpu.so.1", "libgpu.so.1")
        shop.library(planted / "libplanted.so.1", "libplanted.so.1")
        look(box, works=True)
        paths = [entry.path for entry in read((box.rootfs / CACHE).read_bytes())]
        assert not [path for path in paths if "planted" in path]
    else:
        planted.symlink_to(outside / "driver")
        assert box.run(PROBE).code != 0  # by mount-srv; the fixture looks at what is outside


@pytest.mark.parametrize("climb", ["", CLIMB])
def test_cve_2024_0132_a_directory_that_is_a_link_out_is_not_there(srv_box, outside, climb):
    box = srv_box("/opt/driver")
    (box.rootfs / "opt").mkdir()
    (box.rootfs / "opt/driver").symlink_to(f"{climb}{outside}/driver")
    before = tree(box.rootfs / "etc")
    refused(box.run(), 3, "'/opt/driver' in the container")
    assert tree(box.rootfs / "etc") == before


def test_cve_2024_0132_libraries_that_are_links_out_are_left_out(srv_box, outside):
    """Not even what they are called comes into the container."""
    box = srv_box("/opt/driver")
    directory = box.rootfs / "opt/driver"
    directory.mkdir(parents=True)
    for number, target in enumerate([outside / "driver/libgpu.so.1", "../" * 20 + str(outside)[1:]
                                     + "/driver/libz.so.1", "/proc/self/exe", "/proc/1/exe",
                                     f"/proc/1/root{outside}/driver/libgpu.so.1"]):
        (directory / f"libout{number}.so").symlink_to(target)
    (directory / "libin.so.1").write_bytes(elf.library("libin.so.1"))
    started(box.run())
    added = [entry.name for entry in read((box.rootfs / CACHE).read_bytes()) if "/opt/" in entry.path]
    assert added == ["libin.so.1"]


@pytest.mark.parametrize("name", [b"lib\nnew.so", b"lib\x1b[2J.so", b"lib\xff.so", b"lib\"'.so", b"lib .so",
                                  b"lib" + b"x" * 248 + b".so"], ids=repr)
def test_h16_strange_names_come_out_whole_or_not_at_all(srv_box, name):
    box = srv_box("/opt/driver", "--log-level", "debug")
    directory = box.rootfs / "opt/driver"
    directory.mkdir(parents=True)
    (directory / os.fsdecode(name)).write_bytes(elf.library("lib\n\x1b[2J.so.1"))
    (directory / ("bad" + os.fsdecode(name)).replace("badlib", "libbad")[:250]).write_bytes(b"no library")
    result = box.run()
    started(result)
    assert not [line for line in result.said if "\n" in line or "\x1b" in line], result.said
    for entry in read((box.rootfs / CACHE).read_bytes()):
        assert "/opt/driver" not in entry.path or os.fsencode(entry.path).rpartition(b"/")[2] == name


@pytest.mark.parametrize("soname", ["../../../etc/passwd", "/etc/passwd", "a/b", "", ".", "..",
                                    "lib" + "x" * 5000 + ".so"], ids=lambda value: value[:20])
def test_a_soname_is_no_path(srv_box, soname):
    """ldconfig would make a link of that name."""
    box = srv_box("/opt/driver")
    directory = box.rootfs / "opt/driver"
    directory.mkdir(parents=True)
    (directory / "libodd.so.1").write_bytes(elf.library(soname))
    before = {path for path in box.rootfs.rglob("*") if "/etc" not in str(path)}
    look(box, True, "echo started", "started\n")
    assert {path for path in box.rootfs.rglob("*") if "/etc" not in str(path)} - before <= {
        box.rootfs / "srv", box.rootfs / "srv/driver"}
    for entry in read((box.rootfs / CACHE).read_bytes()):
        assert "/opt/" not in entry.path or entry.path == "/opt/driver/libodd.so.1"


def fifo(path):
    os.mkfifo(path)


def huge(path):
    with open(path, "wb") as file:
        file.truncate(1 << 40)


def device(path):
    os.mknod(path, 0o20666, os.makedev(1, 5))


def endless(path):
    path.write_text(f"include /{LD_SO_CONF}\ninclude /etc/*\n" * 1000)


def locked(path):
    path.write_bytes(b"")
    path.chmod(0)


@in_turns("place, make", [(place, make) for place in FILES
                          for make in (fifo, huge, device, endless, locked, os.mkdir)])
def test_h7_h9_h13_what_is_no_plain_small_file_holds_nobody_up(box, place, make):
    remove(box.rootfs / place)
    make(box.rootfs / place)
    box.wrapper = ("/usr/bin/prlimit", "--as=67108864", "--cpu=5")
    look(box, works=make != os.mkdir or place != CACHE)


@pytest.mark.parametrize("make", [fifo, device], ids=lambda f: f.__name__)
@pytest.mark.parametrize("place", FILES)
def test_h7_what_is_no_plain_file_is_not_even_opened(srv_box, watch, place, make):
    """Opening a device may have effects."""
    box = srv_box()
    remove(box.rootfs / place)
    make(box.rootfs / place)
    (box.rootfs / "kept").hardlink_to(box.rootfs / place)  # its end would be an event, too
    opened = watch(box.rootfs / "kept")
    box.run("echo started")
    assert opened() == []


@in_turns("place, make", [(place, make) for place in ("etc", "etc/ld.so.conf.d") for make in (fifo, device, locked)])
def test_h7_no_directory_where_one_is_needed(box, place, make):
    shutil.rmtree(box.rootfs / place)
    make(box.rootfs / place)
    look(box, works=place != "etc")


def test_a_failure_leaves_the_image_as_it_was(box):
    """The last of what is made cannot be: what was made before is gone again."""
    (box.rootfs / CACHE).unlink()
    (box.rootfs / CACHE).mkdir()
    before = tree(box.rootfs / "etc")
    look(box, works=False)
    assert tree(box.rootfs / "etc") == before
