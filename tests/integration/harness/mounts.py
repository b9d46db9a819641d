# SPDX-License-Identifier: Apache-2.0
"""Mount tables, as /proc/PID/mountinfo shows them."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo, less what differs from run to run (ids, device numbers)."""

    point: str
    root: str
    options: frozenset
    propagation: tuple
    fstype: str
    source: str

    def below(self, directory):
        """Whether this mount is at `directory` or anywhere under it."""
        return self.point == directory or self.point.startswith(directory.rstrip("/") + "/")


def unescape(field):
    """Undo the kernel's octal escapes; bytes that are not UTF-8 stay surrogates."""
    raw = field.encode("utf-8", "surrogateescape")
    raw = re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), raw)
    return raw.decode("utf-8", "surrogateescape")


def parse(text):
    """All mounts of a mountinfo text, in its order."""
    mounts = []
    for line in text.split("\n"):
        if not line:
            continue
        left, right = line.split(" - ", 1)
        fields, (fstype, source, *_) = left.split(" "), right.split(" ")
        mounts.append(Mount(point=unescape(fields[4]), root=unescape(fields[3]),
                            options=frozenset(fields[5].split(",")),
                            propagation=tuple(sorted(fields[6:])),
                            fstype=fstype, source=unescape(source)))
    return mounts
