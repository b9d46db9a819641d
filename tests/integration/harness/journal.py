# SPDX-License-Identifier: Apache-2.0
"""A /dev/log of one host: what hooks say there. crun shows nobody what a hook writes to stderr."""

import re
import secrets
import socket
import threading
import time


class Journal:
    """Receives at `path` from the start; the kernel would make a sender wait for a slow reader."""

    def __init__(self, path):
        self._lines, self._lock = [], threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        while True:
            datagram = self._socket.recv(65536)
            if not datagram:
                return
            with self._lock:
                self._lines.append(datagram.decode("utf-8", "surrogateescape"))

    def _settle(self):
        # Datagrams keep their order: when this one has come, so has all that was sent before.
        mark = f"mark {secrets.token_hex(8)}"
        self._send(mark.encode())
        while True:
            with self._lock:
                if mark in self._lines:
                    self._lines.remove(mark)
                    return
            time.sleep(0.001)

    def messages(self, container):
        """What hooks have said of a container, as on stderr: `mount-srv: container 3f2a…: text`."""
        self._settle()
        with self._lock:
            lines = list(self._lines)
        said = [re.sub(r"^<\d+>", "", line.rstrip("\n\0")) for line in lines]
        said = [re.sub(r"^(\S+)\[\d+\]: ", r"\1: ", line) for line in said]
        # And not conmon's, which repeats what a runtime wrote.
        return [line for line in said if re.match(rf"[\w-]+: container {container[:12]}: ", line)]

    def _send(self, datagram):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(datagram, self._socket.getsockname())

    def close(self):
        self._send(b"")
        self._thread.join()
        self._socket.close()
