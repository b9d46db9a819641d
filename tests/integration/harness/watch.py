# SPDX-License-Identifier: Apache-2.0
"""Which files are opened, by anybody, in whatever namespace: inotify(7)."""

import ctypes
import os
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
IN_ACCESS, IN_OPEN = 0x1, 0x20
EVENT = struct.Struct("iIII")


class Watch:
    """Watches files from its making on."""

    def __init__(self, paths):
        self._fd = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self._fd >= 0, os.strerror(ctypes.get_errno())
        self._paths = {}
        for path in paths:
            number = LIBC.inotify_add_watch(self._fd, os.fsencode(path), IN_ACCESS | IN_OPEN)
            assert number >= 0, os.strerror(ctypes.get_errno())
            self._paths[number] = path

    def opened(self):
        """Those that were opened or read so far."""
        seen = set()
        while True:
            try:
                events = os.read(self._fd, 65536)
            except BlockingIOError:
                return sorted(seen)
            while events:
                number, _, _, length = EVENT.unpack_from(events)
                seen.add(self._paths[number])
                events = events[EVENT.size + length:]

    def close(self):
        os.close(self._fd)
