# SPDX-License-Identifier: Apache-2.0
"""What a directory of injected libraries may have in it, made by the machine's own compiler and linker, and
the program `probe`, which says what a loader makes of it."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

from hosts import elf

SOURCES = Path(__file__).resolve().parents[2] / "roots"
# SONAMEs that every Debian image has, too.
OF_IMAGES = ("libz.so.1", "libcrypt.so.1", "liblzma.so.5", "libselinux.so.1", "libbz2.so.1.0",
             "libuuid.so.1")
THIRTY_TWO = "lib32bit.so.1"  # needs no C library
FUNCTIONS = ("dlopen", "dlerror", "fork", "waitpid", "strlen", "write", "_exit", "__libc_start_main")


# .note.ABI-tag of the LSB: the oldest kernel that the library needs, as the C library's own have it.
ABI_TAG = """.section .note.GNU-stack, "", @progbits
.section .note.ABI-tag, "a", @note
.balign 4
.long 4, 16, 1
.asciz "GNU"
.long 0, 3, 2, 0
"""


class Workshop:
    """Compiles once, and then only links."""

    def __init__(self, directory):
        self._directory = directory
        compiler = ["gcc", "-O1", "-fPIC", "-ffreestanding", "-fno-stack-protector", "-c"]
        for name, source, *options in (("stub", "stub.c"), ("stub32", "stub.c", "-m32"),
                                       ("probe", "probe.c")):
            self._run(*compiler, *options, SOURCES / source, "-o", f"{name}.o")
        self._run("as", "-", "-o", "tag.o", input=ABI_TAG)
        self.probe = self._link_probe("probe", "/lib64/ld-linux-x86-64.so.2", "libc.so.6",
                                      "--version-script", SOURCES / "probe_symbols.map")
        self.musl_probe = self._link_probe("musl-probe", "/lib/ld-musl-x86_64.so.1", "libc.so")

    def _run(self, *command, **options):
        subprocess.run(command, check=True, cwd=self._directory, encoding="ascii", **options)

    def _assemble(self, functions, output):
        text = "".join(f".globl {f}\n.type {f}, @function\n{f}: ret\n" for f in functions)
        self._run("as", "-", "-o", output, input=text)

    def _link_probe(self, name, loader, libc, *options):
        """Against libraries that only have the right names and versions in them."""
        self._assemble(FUNCTIONS, "libc.o")
        self._assemble(["unused"], "libdl.o")
        self._run("ld", "-shared", "-soname", libc, *options, "libc.o", "-o", "libc.so")
        # Before glibc 2.34 that is where dlopen is; musl knows that name, and needs no file for it.
        self._run("ld", "-shared", "-soname", "libdl.so.2", "libdl.o", "-o", "libdl.so")
        self._run("ld", "-pie", "-dynamic-linker", loader, "probe.o", "libc.so",
                  "--no-as-needed", "libdl.so", "-o", name)
        return self._directory / name

    def library(self, path, soname=None, *options, bits=64):
        """A library at `path`, in a directory that is there or not."""
        path.parent.mkdir(parents=True, exist_ok=True)
        stub, emulation = {64: ("stub.o", "elf_x86_64"), 32: ("stub32.o", "elf_i386")}[bits]
        self._run("ld", "-m", emulation, "-shared", *(["-soname", soname] if soname else []),
                  *options, stub, "-o", path)
        return path

    def versioned(self, directory, soname, version="9.8.7", *options, development=False):
        """As a package has it: the file bears the version, the SONAME is a link."""
        file = f"{soname.partition('.so')[0]}.so.{version}"
        self.library(directory / file, soname, *options)
        (directory / soname).symlink_to(file)
        if development:
            (directory / f"{soname.partition('.so')[0]}.so").symlink_to(soname)


def driver(shop, directory):
    """A directory as a driver has one, with all that ldconfig has rules for."""
    shop.versioned(directory, "libm.so.6", "9.8.7", "tag.o")
    for number in range(10):
        shop.versioned(directory, f"libdriver-{number}.so.1", development=number % 2 == 0)
    for soname in OF_IMAGES:
        shop.versioned(directory, soname)
    for name in ("libnum.so.2", "libnum.so.10", "libnum.so.9", "libnum9.so.1", "libnum10.so.1",
                 "libNUM.so.1", "lib+plus.so.1", "lib_under.so.1", "libx.so"):
        shop.library(directory / name, name)
    # Found by its file name; found only because ldconfig makes a link for its SONAME.
    shop.library(directory / "libnameless.so")
    shop.library(directory / "libnameless-2.so.7")
    shop.library(directory / "libunlinked.so.535.1", "libunlinked.so.1")
    shop.library(directory / "libalias.so.3", "libother.so.8")
    shop.library(directory / "ld-driver.so.2", "ld-driver.so.2")
    # Several of one SONAME; the link names the older one.
    for version in ("1.9", "1.10"):
        shop.library(directory / f"libtwo.so.{version}", "libtwo.so.1")
    (directory / "libtwo.so.1").symlink_to("libtwo.so.1.9")
    shop.library(directory / "elsewhere/libchain.so.1.5.0", "libchain.so.1")
    (directory / "libchain.so.1.5").symlink_to("elsewhere/libchain.so.1.5.0")
    (directory / "libchain.so.1").symlink_to("libchain.so.1.5")
    # Not counted as libraries, by their names.
    for name in ("plugin.so", "liba.a", "lib.txt", ".libhidden.so.1"):
        shop.library(directory / name, "libnone.so.1")
    shop.library(directory / THIRTY_TWO, THIRTY_TWO, bits=32)
    for name, machine in (("libwith.so.1", elf.I386), ("libwide.so.1", elf.X32)):
        (directory / name).write_bytes(elf.library(name, machine, ["libc.so.6"]))
    return directory


def hwcaps(shop, directory):
    """The variants of some libraries for newer processors, with and without a mark in the file."""
    for level in ("v2", "v3", "v4"):
        below = directory / f"glibc-hwcaps/x86-64-{level}"
        shop.versioned(below, "libdriver-0.so.1", "9.8.7")
        shop.versioned(below, "libdriver-3.so.1", "9.8.7", "-z", f"x86-64-{level}")
        shop.library(below / "libz.so.1", "libz.so.1")
    shop.library(directory / "glibc-hwcaps/x86-64-v2/libhwcaps-only.so.1", "libhwcaps-only.so.1")
    shop.library(directory / "libmarked.so.1", "libmarked.so.1", "-z", "x86-64-v2")
    return directory


def make_bad(directory):
    """Files that look like libraries and are none; gives their names."""
    whole = elf.library("libbad.so.1")
    contents = {"libbad-empty.so": b"", "libbad-text.so": b"INPUT(-lc)\n",
                "libbad-magic.so": b"\x7fELF", "libbad-header.so": whole[:40],
                "libbad-segments.so": whole[:100], "libbad-strings.so": whole[:-30],
                "libbad-tail.so": whole[:200] + b"\xff" * 200,
                "libbad-class.so": whole[:4] + b"\x07" + whole[5:],
                "libbad-count.so": whole[:56] + b"\xff\xff" + whole[58:]}
    for name, content in contents.items():
        (directory / name).write_bytes(content)
    with open(directory / "libbad-huge.so", "wb") as file:
        file.truncate(4 << 30)
    with open(directory / "libbad-huge-tail.so", "wb") as file:
        file.write(whole[:64])
        file.truncate(4 << 30)
    os.mkfifo(directory / "libbad-fifo.so")
    (directory / "libbad-directory.so").mkdir()
    os.mknod(directory / "libbad-device.so", 0o20666, os.makedev(1, 5))  # as /dev/zero
    os.mknod(directory / "libbad-block.so", 0o60666, os.makedev(7, 250))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(directory / "libbad-socket.so"))
    (directory / "libbad-loop.so").symlink_to("libbad-loop.so")
    (directory / "libbad-dangling.so").symlink_to("/nowhere/libbad-dangling.so")
    return sorted(path.name for path in directory.glob("libbad-*"))


def copy(directory, to):
    """As `cp -a`, links kept."""
    shutil.copytree(directory, to, symlinks=True)
    return to
