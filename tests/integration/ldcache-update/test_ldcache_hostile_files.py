# SPDX-License-Identifier: Apache-2.0
"""H19: caches and libraries that are cut short, forged or no such thing. Nothing is read whole, nothing
leads outside; what is good in the same place still works."""

import os
import random
import re
import struct

import pytest

from harness import libraries
from harness.expect import started, told
from harness.ldcache import CACHE, ENTRY, HEADER, MAGIC, OLD_ENTRY, OLD_MAGIC, X86_64, Entry, read, write
from hosts import elf

pytest_plugins = ["harness.ldcache_fixtures"]

PROBE = "/probe libgpu.so.1 libm.so.6"
FOUND = "libgpu.so.1 /srv/driver/libgpu.so.1\nlibm.so.6 /lib/x86_64-linux-gnu/libm.so.6\n"
OWN = [Entry("libm.so.6", "/lib/x86_64-linux-gnu/libm.so.6"),
       Entry("libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6")]
GOOD = write(OWN)
MEMORY = 8 << 20


def header(count=2, strings=len(GOOD) - HEADER.size - 2 * ENTRY.size, flags=0, extension=0, magic=MAGIC):
    """The good cache with another header."""
    return HEADER.pack(magic, count, strings, flags, extension) + GOOD[HEADER.size:]


def entry(**changes):
    """The good cache with its first entry forged: flags, name, path, os_version, hwcap."""
    fields = dict(zip(("flags", "name", "path", "os_version", "hwcap"),
                      ENTRY.unpack_from(GOOD, HEADER.size)))
    fields.update(changes)
    return GOOD[:HEADER.size] + ENTRY.pack(*fields.values()) + GOOD[HEADER.size + ENTRY.size:]


def extended(*sections, magic=0xEAA42174, count=None):
    """The good cache with extension sections: (tag, flags, offset, size)."""
    at = (len(GOOD) + 3) & ~3
    return (header(extension=at).ljust(at, b"\0") + struct.pack("<II", magic, len(sections) if count is None
                                                                  else count)
            + b"".join(struct.pack("<IIII", *section) for section in sections) + bytes(64))


def old(count, entries, rest=b""):
    return OLD_MAGIC + struct.pack("<I", count) + b"".join(OLD_ENTRY.pack(*e) for e in entries) + rest


LARGE = 0xFFFFFFFF
# Caches that glibc does not believe at all.
REFUSED = {
    "empty": b"", "one byte": b"g", "text": b"/usr/lib\n", "magic alone": MAGIC,
    "header cut short": GOOD[:HEADER.size - 1], "another version": header(magic=b"glibc-ld.so.cache9.9"),
    "entries cut short": GOOD[:HEADER.size + ENTRY.size], "big endian": header(flags=3),
    "too many entries": header(count=3000), "count of all ones": header(count=LARGE),
    "a count that overflows": header(count=0x0AAAAAAB), "random": random.Random(1).randbytes(5000),
    "random behind the magic": MAGIC + random.Random(2).randbytes(5000),
    "old, cut short": OLD_MAGIC, "old, count of all ones": old(LARGE, []),
    "old, a count that overflows": old(0x15555556, [(3, 0, 1)], b"x\0"),
    "zeros": bytes(100000),
}
# Caches of which some can be believed, or all, or nothing: whatever glibc makes of each.
FORGED = {
    "strings of all ones": header(strings=LARGE), "strings of none": header(strings=0),
    "name out of the file": entry(name=LARGE), "path out of the file": entry(path=LARGE),
    "name at the end": entry(name=len(GOOD) - 1), "path right behind the end": entry(path=len(GOOD)),
    "name in the header": entry(name=0), "path among the entries": entry(path=HEADER.size),
    "no end of the last string": GOOD[:-1] + b"x", "odd flags": entry(flags=-1),
    "hwcap of an extension that is not there": entry(hwcap=(1 << 62) | 7), "all bits": entry(hwcap=2**64 - 1),
    "extension out of the file": header(extension=LARGE), "extension in the header": header(extension=4),
    "extension, another magic": extended(magic=1), "extension, count of all ones": extended(count=LARGE),
    "generator out of the file": extended((0, 0, LARGE, 20)),
    "generator, size of all ones": extended((0, 0, 100, LARGE)),
    "hwcaps out of the file": extended((1, 0, LARGE, 8)), "hwcaps, odd size": extended((1, 0, 100, 7)),
    "hwcaps that overlap": extended((1, 0, 48, 64), (1, 0, 52, 64)),
    "unknown sections": extended(*((tag, 1, tag, tag) for tag in range(2, 50))),
    "no entries": write([]), "a thousand of one name": write(OWN * 500),
    "a name without a directory": write([*OWN, Entry("libx.so", "libx.so")]),
    "a path that climbs": write([*OWN, Entry("libx.so", "/srv/driver/../../etc/passwd")]),
    "the directory's own": write([*OWN, Entry("libgpu.so.1", "/srv/driver/glibc-hwcaps/x86-64-v2/libgpu.so.1"),
                               Entry("libgpu.so.1", "/srv/driver/libgpu.so.0")]),
    "an empty name and path": write([*OWN, Entry("", "")]),
    "a long name": write([*OWN, Entry("lib" + "x" * 100000, "/" + "y" * 100000)]),
    "old, offsets out of the file": old(2, [(3, LARGE, LARGE), (3, 0, 5)], b"lib\0/lib\0"),
    "old, the new one cut short": old(1, [(3, 0, 5)], b"libx\0/libx\0\0\0\0\0" + GOOD[:60]),
    "old, then the new one": old(2, [(3, 0, 0)] * 2, GOOD),
}


@pytest.fixture(name="box")
def box_fixture(srv_box):
    box = srv_box()
    box.timeout = 20
    return box


def limited(box, cache):
    """No more memory than is promised, and what the program itself is."""
    box.wrapper = ("/usr/bin/prlimit", f"--data={MEMORY + 3 * cache}", "--cpu=5")


@pytest.mark.parametrize("name", REFUSED)
def test_a_cache_that_glibc_refuses_counts_as_none(box, name):
    (box.rootfs / CACHE).write_bytes(REFUSED[name])
    limited(box, len(REFUSED[name]))
    result = box.run(PROBE)
    assert started(result) == FOUND, result.said
    told(result, "warning" if "warning" in str(result.said) else "", f"'/{CACHE}'")
    assert {e.path.rpartition("/")[0] for e in read((box.rootfs / CACHE).read_bytes())} == {"/srv/driver"}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_cache_leads_nowhere(box, name):
    (box.rootfs / CACHE).write_bytes(FORGED[name])
    limited(box, len(FORGED[name]))
    result = box.run(f"ldconfig -p >/dev/null && {PROBE}")
    assert started(result) == FOUND, result.said
    now = (box.rootfs / CACHE).read_bytes()
    paths = [e.path for e in read(now)]
    assert "/srv/driver/libgpu.so.1" in paths and "/srv/driver/libgpu.so.0" not in paths
    # Nothing but whole strings of the file: none of the hook's memory.
    for each in read(now):
        strings = [text.encode("utf-8", "surrogateescape") + b"\0" for text in (each.name, each.path)]
        assert each.path.startswith("/srv/driver/") or all(s in FORGED[name] for s in strings), each


@pytest.mark.parametrize("size, begin", [(1 << 40, GOOD), ((1 << 31) + 5, b""), (1 << 28, old(1 << 26, [])),
                                         (1 << 28, header(count=1 << 26, strings=1 << 20))],
                         ids=["1T", "2G", "old", "new"])
def test_h9_a_huge_sparse_cache_is_not_read_whole(box, size, begin):
    with open(box.rootfs / CACHE, "wb") as file:
        file.write(begin)
        file.truncate(size)
    box.wrapper = ("/usr/bin/prlimit", "--as=134217728", "--cpu=5")
    result = box.run(PROBE)
    assert started(result) == FOUND
    told(result, f"'/{CACHE}'", "larger")


def test_a_large_honest_cache_takes_little_memory(box):
    """Twenty thousand libraries."""
    many = [Entry(f"libmany{n}.so.1", f"/usr/lib/many/libmany{n}.so.1") for n in range(20000)]
    data = write(sorted(many, key=lambda e: -int(e.name[7:-5])) + OWN)
    (box.rootfs / CACHE).write_bytes(data)
    limited(box, len(data))
    assert started(box.run(PROBE)) == FOUND
    now = [e for e in read((box.rootfs / CACHE).read_bytes()) if "/srv/" not in e.path]
    assert {(e.name, e.path, e.flags) for e in now} == {(e.name, e.path, X86_64) for e in many + OWN}


@pytest.fixture(name="bad_box")
def bad_box_fixture(small_box, shop):
    """A container with a directory in which one library is good; `bad` are the names of the others."""
    box = small_box("/opt/driver")
    directory = box.rootfs / "opt/driver"
    shop.versioned(directory, "libgpu.so.1")
    box.bad = libraries.make_bad(directory)
    box.timeout = 20
    return box


def added(box):
    return [e.name for e in read((box.rootfs / CACHE).read_bytes()) if "/opt/" in e.path]


def test_files_that_are_no_libraries_are_skipped_with_a_warning(bad_box):
    """All of them but directories, and links that lead nowhere: those are common. After ten lines the rest
    is counted."""
    limited(bad_box, 8000)
    result = bad_box.run()
    started(result)
    assert added(bad_box) == ["libgpu.so.1"]
    told_of = [name for name in bad_box.bad if f"/{name}'" in "".join(result.said)]
    assert len(told_of) == 10 and len(result.said) == 11, result.said
    assert not {"libbad-directory.so", "libbad-dangling.so"} & set(told_of)
    told(result, f" {len(bad_box.bad) - 2 - 10} more files are left out")


def test_bad_files_are_not_read_whole(bad_box, scratch):
    """Of 4 GiB of zeros as little as of a text; of devices and FIFOs nothing. They are not even opened."""
    trace = scratch / "trace"
    bad_box.wrapper = ("/usr/bin/strace", "-D", "-f", "-y", "-qq", "-o", trace, "-e",
                       "trace=read,pread64,readv,preadv,preadv2,mmap,openat,openat2,open")
    started(bad_box.run())
    text = trace.read_text(errors="surrogateescape")
    sizes = [int(size) for size in re.findall(r"read\w*\(\d+<[^>]*libbad-[^>]*>.* = (\d+)$", text, re.MULTILINE)]
    assert sizes and max(sizes) <= 1 << 20 and sum(sizes) < 4 << 20, sizes
    assert not re.findall(r"mmap\(.*libbad-huge.*", text)
    for name in ("fifo", "device", "block", "socket"):
        assert not re.findall(rf"read\w*\(\d+<[^>]*libbad-{name}", text)
        for line in re.findall(rf"^.*open.*libbad-{name}.*$", text, re.MULTILINE):
            assert "O_PATH" in line or "= -1" in line, line


@pytest.mark.parametrize("machine", [elf.AARCH64, elf.PPC64LE, elf.I386], ids=str)
def test_libraries_of_other_machines_do_not_disturb(bad_box, shop, machine):
    """They may be in the cache: the loader passes over them."""
    directory = bad_box.rootfs / "opt/driver"
    for name in ("liba-other.so.1", "libgpu.so.1.other", "libz-other.so.1"):
        (directory / name).write_bytes(elf.library("libgpu.so.1", machine, ["libc.so.6"]))
    (bad_box.rootfs / "probe").write_bytes(shop.probe.read_bytes())
    (bad_box.rootfs / "probe").chmod(0o755)
    assert started(bad_box.run("/probe libgpu.so.1")) == "libgpu.so.1 /opt/driver/libgpu.so.1\n"


def test_h19_libraries_cut_at_any_byte(srv_box):
    """And with any byte of the headers turned around."""
    whole = elf.library("libcut.so.1", needed=["libc.so.6"])
    box = srv_box("/opt/driver")
    box.timeout = 20
    directory = box.rootfs / "opt/driver"
    directory.mkdir(parents=True)
    for length in range(len(whole)):
        (directory / f"libcut-{length}.so").write_bytes(whole[:length])
        turned = bytes([*whole[:length], whole[length] ^ 0xFF, *whole[length + 1:]])
        (directory / f"libturned-{length}.so").write_bytes(turned)
    limited(box, 1 << 20)
    result = box.run()
    started(result)
    for each in read((box.rootfs / CACHE).read_bytes()):
        if "/opt/" in each.path:
            raw = os.fsencode(each.name)
            assert raw in whole or raw in (directory / each.path.rpartition("/")[2]).read_bytes() or (
                each.path.endswith(each.name)), each


def test_a_directory_of_many_files(srv_box):
    """As many as no driver has: they are taken, and soon."""
    box = srv_box("/opt/driver")
    box.timeout = 20
    directory = box.rootfs / "opt/driver"
    directory.mkdir(parents=True)
    whole = elf.library("libmany.so.1")
    (directory / "libmany-0.so").write_bytes(whole)
    for number in range(1, 20000):
        os.link(directory / "libmany-0.so", directory / f"libmany-{number}.so")
    started(box.run())
    assert len(added(box)) == 1
