# SPDX-License-Identifier: Apache-2.0
"""Root filesystems with a C library: Debian's releases, a small one made from one of them, and musl."""

import functools
import shutil
import subprocess
from pathlib import Path

from . import rootfs

PROJECT = Path(__file__).resolve().parents[3]
DIRECTORY = PROJECT / "build/roots"
RELEASES = {"bullseye": "2.31", "bookworm": "2.36", "trixie": "2.41"}  # and their glibc
LOADER = "lib64/ld-linux-x86-64.so.2"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# Each is the whole of a small image: enough for ldconfig and for the program `probe`, besides busybox.
TAKEN = ("libc.so.6", "libdl.so.2", "libm.so.6", "libz.so.1", "libcrypt.so.1", "liblzma.so.5",
         "libbz2.so.1.0")
MUSL_LOADER = Path("/lib/ld-musl-x86_64.so.1")


@functools.cache
def tree(release):
    """Debian's essential packages, unpacked; only to be read. Made first if they are not there yet."""
    subprocess.run([PROJECT / "tests/roots/make_debian"], check=True)
    return DIRECTORY / release


def overlay(box, lower):
    """From now on the box's root is an overlay on `lower`, mounted on its host. Gives the upper directory;
    what is written there before this is part of the image."""
    shutil.rmtree(box.rootfs)
    upper, work = box.bundle.directory / "upper", box.bundle.directory / "work"
    for directory in (box.rootfs, work):
        directory.mkdir()
    upper.mkdir(exist_ok=True)
    box.host.mount("-t", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}",
                   "overlay", box.rootfs)
    return upper


def add_glibc(root):
    """Makes a busybox root one that has Debian 12's C library, its loader, and a loader cache."""
    source = tree("bookworm")
    (root / LIBRARIES).mkdir(parents=True)
    for name in ("lib", "lib64", "sbin"):
        (root / "usr" / name).mkdir(exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in TAKEN:
        file = (source / LIBRARIES / name).resolve()
        shutil.copy(file, root / LIBRARIES / file.name)
        if file.name != name:
            (root / LIBRARIES / name).symlink_to(file.name)
    shutil.copy(source / LIBRARIES / "ld-linux-x86-64.so.2", root / LIBRARIES)
    (root / LOADER).symlink_to(f"/{LIBRARIES}/ld-linux-x86-64.so.2")
    shutil.copy(source / "sbin/ldconfig", root / "usr/sbin/ldconfig")
    shutil.copy(source / "etc/ld.so.conf", root / "etc")
    shutil.copytree(source / "etc/ld.so.conf.d", root / "etc/ld.so.conf.d")
    ldconfig(root)
    return root


def add_musl(root):
    """Makes a busybox root one that has Debian's musl."""
    (root / "lib").mkdir()
    shutil.copy(MUSL_LOADER, root / "lib/ld-musl-x86_64.so.1")
    return root


def ldconfig(root, *options):
    """Runs the image's own ldconfig; gives what it prints."""
    return subprocess.run(["chroot", root, "/sbin/ldconfig", *options], check=True,
                          capture_output=True, encoding="utf-8", errors="surrogateescape").stdout


def small(directory, *additions):
    """A fresh busybox root with these additions."""
    root = rootfs.make(directory)
    for add in additions:
        add(root)
    return root
