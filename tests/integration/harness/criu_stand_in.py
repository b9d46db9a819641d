#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""In place of criu(8), which does not run on every kernel: to be started by `runc restore` as `FILE swrk FD`. It makes
a process with a mount namespace of its own, has runc call the hooks for it, and then gives up. FILE.called is there
afterwards if no hook has failed. The messages are those of CRIU's images/rpc.proto, in the encoding of protobuf."""

import ctypes
import os
import signal
import socket
import sys
from pathlib import Path

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18
RESTORE, NOTIFY, VERSION = 2, 6, 10  # enum criu_req_type


def number(field, value):
    encoded = bytes([field << 3])
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def text(field, value):
    return bytes([field << 3 | 2, len(value)]) + value


def response(kind, success, further=b""):
    return number(1, kind) + number(2, success) + further


def start_task():
    """The first process of the container: it has copies of the host's mounts, as at that moment under CRIU."""
    ready, done = os.pipe()
    pid = os.fork()
    if pid == 0:
        libc = ctypes.CDLL(None)
        if libc.unshare(CLONE_NEWNS) == 0 and libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0:
            os.write(done, b".")
            signal.pause()
        os._exit(1)
    os.close(done)
    os.read(ready, 1)
    return pid


def main():
    runc = socket.socket(fileno=int(sys.argv[2]))
    while message := runc.recv(1 << 16):
        kind = message[1]
        if kind == VERSION:
            runc.send(response(VERSION, 1, text(10, number(1, 3) + number(2, 17))))
        if kind != RESTORE:
            continue
        task = start_task()
        runc.send(response(NOTIFY, 1, text(5, text(1, b"setup-namespaces") + number(2, task))))
        if runc.recv(1 << 16):
            Path(__file__ + ".called").touch()
        os.kill(task, signal.SIGKILL)
        runc.send(response(RESTORE, 0))
        return


main()
