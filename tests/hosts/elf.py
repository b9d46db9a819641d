# SPDX-License-Identifier: Apache-2.0
"""Shared libraries of any machine, put together by hand: just what a loader cache is made from."""

import struct
from dataclasses import dataclass

LOAD, DYNAMIC = 1, 2  # p_type
NEEDED, STRTAB, SYMTAB, STRSZ, SONAME = 1, 5, 6, 10, 14  # d_tag


@dataclass(frozen=True)
class Machine:
    """`number` is e_machine of the ELF header, `flags` its e_flags."""

    number: int
    bits: int = 64
    flags: int = 0
    big_endian: bool = False


X86_64 = Machine(62)
X32 = Machine(62, bits=32)
I386 = Machine(3, bits=32)
AARCH64 = Machine(183)
ARM_HARD_FLOAT = Machine(40, bits=32, flags=0x05000400)
PPC64LE = Machine(21, flags=2)
PPC64BE = Machine(21, flags=1, big_endian=True)


def library(soname=None, machine=X86_64, needed=()):
    """The bytes of a library; without `soname` it has none."""
    word = "Q" if machine.bits == 64 else "I"
    order = ">" if machine.big_endian else "<"
    ehdr = order + ("HHIQQQIHHHHHH" if machine.bits == 64 else "HHIIIIIHHHHHH")
    phdr = order + ("IIQQQQQQ" if machine.bits == 64 else "IIIIIIII")
    start = 16 + struct.calcsize(ehdr)
    dynamic_at = start + 2 * struct.calcsize(phdr)
    strings, tags = b"\0", []
    for tag, name in [*((NEEDED, name) for name in needed), (SONAME, soname)]:
        if name is not None:
            tags.append((tag, len(strings)))
            strings += name.encode() + b"\0"
    entry = struct.calcsize(order + word * 2)
    strings_at = dynamic_at + entry * (len(tags) + 4)
    tags += [(STRTAB, strings_at), (SYMTAB, strings_at), (STRSZ, len(strings)), (0, 0)]
    size = strings_at + len(strings)

    def segment(kind, offset, length):
        if machine.bits == 64:
            return struct.pack(phdr, kind, 5, offset, offset, offset, length, length, 4096)
        return struct.pack(phdr, kind, offset, offset, offset, length, length, 5, 4096)

    ident = b"\x7fELF" + bytes([machine.bits // 32, 2 if machine.big_endian else 1, 1]) + bytes(9)
    header = struct.pack(ehdr, 3, machine.number, 1, 0, start, 0, machine.flags,
                         start, struct.calcsize(phdr), 2, 0, 0, 0)
    return b"".join([ident, header, segment(LOAD, 0, size),
                     segment(DYNAMIC, dynamic_at, entry * len(tags)),
                     *(struct.pack(order + word * 2, *tag) for tag in tags), strings])
