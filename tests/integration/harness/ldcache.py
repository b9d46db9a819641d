# SPDX-License-Identifier: Apache-2.0
"""The loader cache, read and written without glibc, and what the tests of its hook have in common."""

import re
import struct
from dataclasses import dataclass
from functools import partial

from .box import PREFIX, Box
from .expect import refused_by
from .podman import PodmanBox

KEY = PREFIX + "ldcache-update"
refused = partial(refused_by, "ldcache-update")
CACHE, CONF = "etc/ld.so.cache", "etc/ld.so.conf.d/00-oci-gpu-hooks.conf"
MAGIC = b"glibc-ld.so.cache1.1"
OLD_MAGIC = b"ld.so-1.7.0\0"
HEADER = struct.Struct("<20sIIB3xI12x")  # with the count, the strings' length, flags, extension offset
ENTRY = struct.Struct("<iIIIQ")
OLD_ENTRY = struct.Struct("<iII")
EXTENSIONS, GENERATOR, HWCAPS = 0xEAA42174, 0, 1
X86_64, AARCH64, PPC64, I386 = 0x0303, 0x0A03, 0x0503, 0x0003


@dataclass(frozen=True)
class Entry:
    """One library of a cache."""

    name: str
    path: str
    flags: int = X86_64
    os_version: int = 0
    hwcap: int = 0


def write(entries):
    """The bytes of a cache as glibc 2.31 writes it: the newer format, with nothing after the strings."""
    strings, table, start = bytearray(), [], HEADER.size + ENTRY.size * len(entries)
    for entry in entries:
        name = start + len(strings)
        strings += entry.name.encode() + b"\0"
        path = start + len(strings)
        strings += entry.path.encode() + b"\0"
        table.append(ENTRY.pack(entry.flags, name, path, entry.os_version, entry.hwcap))
    return HEADER.pack(MAGIC, len(entries), len(strings), 0, 0) + b"".join(table) + strings


def read(data):
    """The entries of a cache in the newer format, in order."""
    magic, count, _, _, _ = HEADER.unpack_from(data)
    assert magic == MAGIC, data[:20]

    def string(offset):
        return data[offset:data.index(b"\0", offset)].decode("utf-8", "surrogateescape")

    return [Entry(string(name), string(path), flags, os_version, hwcap)
            for flags, name, path, os_version, hwcap in (
                ENTRY.unpack_from(data, HEADER.size + ENTRY.size * n) for n in range(count))]


def listed(text):
    """What `ldconfig -p` prints, as (name, kind, path), in its order."""
    return re.findall(r"^\t(\S+) \((.*)\) => (.*)$", text, re.MULTILINE)


def probed(text):
    """What the program `probe` prints: the path by SONAME, or the loader's words."""
    return dict(line.split(" ", 1) for line in text.splitlines())


class Chain(Box):
    """A container with further hooks before (`first`) and after (`last`) the one that is tested."""

    def __init__(self, *args):
        super().__init__(*args)
        self.last = []

    def _entries(self):
        return super()._entries() + self.last


def box_class(engine):
    return PodmanBox if engine.podman else Chain


def in_the_container(script):
    """A hook that runs a shell script, as the host's root, in the container's mount namespace, where
    $ROOT is the container's root; so do the hooks that put a driver's files in."""
    text = ("state=$(cat); pid=$(echo \"$state\" | sed 's/.*\"pid\": *\\([0-9]*\\).*/\\1/');"
            " export ROOT=$(echo \"$state\" | sed 's/.*\"bundle\": *\"\\([^\"]*\\).*/\\1/')/rootfs;"
            f" exec nsenter --target $pid --mount sh -ec '{script}'")
    return {"path": "/bin/sh", "args": ["sh", "-c", text], "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]}


# For in_the_container(): the mounts of the container. Before it pivots its namespace has a copy of the machine's mounts
# too, of which some go when others remove directories.
OWN_MOUNTS = 'grep -F " $ROOT" /proc/self/mountinfo'


def snapshot(file):
    """A hook that only looks: the mounts, and inode, owner, mode, times and size of all in /etc."""
    return in_the_container(f'({OWN_MOUNTS}; cd "$ROOT/etc";'
                            ' find . -printf "%p %i %u %g %m %T@ %C@ %s %l\\n" | sort)'
                            f' > "{file}"')


def mount_srv(box, hook, source, request):
    """From now on the box has directories of the host below /srv, by the hook mount-srv."""
    box.annotations[PREFIX + "mount-srv"] = request
    entry = hook.entry(["--source-dir", source])
    if isinstance(box, PodmanBox):
        # podman takes hooks in the order of their files' names; those of the box are N.json.
        hook.write(box.runtime.hooks / "0-mount-srv.json", entry, "createRuntime")
    else:
        box.first.append(entry)
