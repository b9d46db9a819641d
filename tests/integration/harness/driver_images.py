# SPDX-License-Identifier: Apache-2.0
"""Images that the driver's files are put into. Each function makes a box's busybox root one of them."""

import shlex
import shutil

from . import debian_root
from .debian_root import LIBRARIES, LOADER, tree

LOADER_NAME = LOADER.rpartition("/")[2]


def busybox(box):
    """No C library at all."""
    return box


def small(box):
    """Debian's C library, where Debian has it, with ldconfig and a cache."""
    debian_root.add_glibc(box.rootfs)


def debian(box, release="bookworm"):
    """Debian's own essential packages; what is written is in box.upper."""
    box.upper = debian_root.overlay(box, tree(release))


def _add_libraries(root, directory, names):
    (root / directory).mkdir(parents=True)
    for name in (*names, LOADER_NAME):
        shutil.copy((tree("bookworm") / LIBRARIES / name).resolve(), root / directory / name)


def lib64(box):
    """As Fedora and its like have it: 64-bit libraries in /usr/lib64, and no directory for several machines."""
    root = box.rootfs
    for name in ("usr/lib", "usr/sbin"):
        (root / name).mkdir(parents=True)
    _add_libraries(root, "usr/lib64", ["libc.so.6", "libdl.so.2", "libm.so.6"])
    for name in ("lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    shutil.copy(tree("bookworm") / "sbin/ldconfig", root / "usr/sbin/ldconfig")
    (root / "etc/ld.so.conf.d").mkdir()
    (root / "etc/ld.so.conf").write_text("include /etc/ld.so.conf.d/*.conf\n/usr/lib64\n", encoding="ascii")
    debian_root.ldconfig(root)


def distroless(box):
    """The loader and the C library alone: no shell, no ldconfig, no cache. What runs is one program with its words."""
    root = box.rootfs
    shutil.rmtree(root / "bin")
    _add_libraries(root, LIBRARIES, ["libc.so.6"])
    (root / "usr/lib64").mkdir()
    for name in ("lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / LOADER).symlink_to(f"../lib/x86_64-linux-gnu/{LOADER_NAME}")
    box.bundle.script = lambda text: box.config["process"].update(args=shlex.split(text))


def musl(box):
    debian_root.add_musl(box.rootfs)


def musl_for_glibc(box):
    """As Alpine with gcompat, or libc6-compat as it was before: what has the name of glibc's loader has musl's run programs."""
    musl(box)
    (box.rootfs / "lib64").mkdir()
    (box.rootfs / LOADER).symlink_to("/lib/ld-musl-x86_64.so.1")


def musl_and_glibc(box):
    small(box)
    shutil.copy(debian_root.MUSL_LOADER, box.rootfs / "lib")


def with_32(box):
    """With a loader for 32-bit programs too."""
    small(box)
    shutil.copy("/lib/ld-linux.so.2", box.rootfs / "usr/lib/ld-linux.so.2")
