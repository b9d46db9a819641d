# SPDX-License-Identifier: Apache-2.0
"""What a hook opens for reading inside a container, as strace saw it, and whether the container's own process could
have read it there. Knows the rules, and nothing of the hooks' code."""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

CALLS = "open,openat,openat2"
# PID openat(…) = 5</path/of/what/was/opened>
LINE = re.compile(r"^(?:\d+ +)?(open\w*)\((.*)\) = \d+<(.*)>$", re.MULTILINE)
READS = re.compile(r"O_RDONLY|O_RDWR")


def wrapper(trace):
    """Runs a hook and writes what it opens into the file `trace`."""
    return ("/usr/bin/strace", "-D", "-f", "-y", "-qq", "-s", "4096", "-o", trace, "-e", f"trace={CALLS}")


def opened(trace, rootfs):
    """The paths below `rootfs` that were opened to be read, as the container names them."""
    text = trace.read_text(encoding="utf-8", errors="surrogateescape")
    assert LINE.search(text), text
    found = [match[3] for match in LINE.finditer(text) if READS.search(match[2]) and "O_PATH" not in match[2]]
    return sorted({path.removeprefix(str(rootfs)) for path in found if path.startswith(f"{rootfs}/")})


@dataclass
class Reader:
    """The container's process: ids as the host numbers them, without any capability."""

    uid: int = 0
    gid: int = 0
    groups: tuple = ()

    def _may(self, status, bit):
        shift = 6 if status.st_uid == self.uid else 3 if status.st_gid in (self.gid, *self.groups) else 0
        return bool(status.st_mode >> shift & bit)

    def may_read(self, top, path):
        """Whether each directory from `top` down lets it pass, and `path` lets it read."""
        parents = [each for each in path.parents if each.is_relative_to(top)]
        return self._may(path.stat(), 4) and all(self._may(each.stat(), 1) for each in parents)


def not_allowed(paths, own, volumes, reader, overrides=False):
    """
    Those that the rules forbid: what is not on the root's own mount, on a tmpfs that is the container's alone (`own`,
    where such are mounted), or in a volume where `reader` could read it. `volumes` has the host's directory of each place.
    """
    def is_below(path, place):
        return path == place or path.startswith(f"{place}/")

    def is_allowed(path):
        places = [place for place in (*own, *volumes, "/proc", "/sys", "/dev") if is_below(path, place)]
        if not places:
            return True
        place = max(places, key=len)
        if place in own:
            return True
        if place not in volumes:
            return False
        top = Path(volumes[place])
        file = top / os.path.relpath(path, place)
        kind = file.stat().st_mode
        plain = stat.S_ISREG(kind) or stat.S_ISDIR(kind)
        return plain and (overrides or reader.may_read(top, file))

    return [path for path in paths if not is_allowed(path)]
