#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""false_systemd.py MODE LOG COMMAND… : what listens at /run/systemd/private as process 1 of a pid namespace, and is no
systemd. It runs the command, says what MODE has it say to whoever connects meanwhile, and ends as the command does. LOG
gets the members of the calls that came in. MODE is one of those below, or UNIT=CGROUP, in which the container is then
said to be.

D-Bus Specification, "Message Protocol": each message is little-endian here, and no longer than a call of the hook's.
"""

import os
import re
import socket
import struct
import sys
import time

PATH = "/run/systemd/private"
OBJECT = "/org/freedesktop/systemd1/unit/x_2e"
WELCOME = b"OK 0123456789abcdef0123456789abcdef\r\n"
METHOD_RETURN, ERROR = 2, 3
LATE_S = 3


def padded(data, size):
    return data + bytes(-len(data) % size)


def string(text):
    return struct.pack("<I", len(text)) + text.encode() + b"\0"


def variant_of_string(text):
    return padded(b"\x01s\0", 4) + string(text)


def message(kind, serial, signature="", body=b"", error=""):
    """A reply to the call of this serial."""
    fields = b"\x05\x01u\0" + struct.pack("<I", serial)
    if error:
        fields = padded(fields, 8) + b"\x04\x01s\0" + string(error)
    if signature:
        fields = padded(fields, 8) + b"\x08\x01g\0" + bytes([len(signature)]) + signature.encode() + b"\0"
    header = struct.pack("<cBBBIII", b"l", kind, 0, 1, len(body), 1000 + serial, len(fields))
    return padded(header + fields, 8) + body


def answer(mode, call, serial):
    """Of a systemd for which the container is in MODE's unit."""
    if mode == "error":
        return message(ERROR, serial, "s", string("not today"), "org.example.Error")
    unit, _, cgroup = mode.partition("=")
    if b"GetUnitByControlGroup" in call:
        return message(METHOD_RETURN, serial, "o", string(OBJECT + unit.rpartition(".")[2]))
    for name, value in (("Id", unit), ("ControlGroup", cgroup), ("DevicePolicy", "strict")):
        if f"\0{name}\0".encode() in call:
            return message(METHOD_RETURN, serial, "v", variant_of_string(value))
    if b"\0DeviceAllow\0" in call and b"SetUnitProperties" not in call:
        return message(METHOD_RETURN, serial, "v", padded(padded(b"\x05a(ss)\0", 4) + bytes(4), 8))
    return message(METHOD_RETURN, serial)


def serve(mode, connection, log):
    if mode == "closes":
        return
    if mode == "garbage":
        connection.sendall(os.urandom(4096))
    elif mode == "late":
        time.sleep(LATE_S)
    if mode not in ("silent", "late"):
        connection.sendall(WELCOME)
    received = b""
    while data := connection.recv(65536):
        received += data
        start = received.find(b"l\x01")
        if mode in ("silent", "late", "garbage") or start < 0:
            continue
        starts = [found.start() for found in re.finditer(rb"l\x01[\0-\x03]\x01", received)]
        for begin, end in zip(starts, [*starts[1:], None]):
            call = received[begin:end]
            serial = struct.unpack_from("<I", call, 8)[0]
            member = re.search(rb"\x03\x01s\0....([A-Za-z]+)\0", call, re.DOTALL)
            log.write((member[1].decode() if member else "?") + "\n")
            log.flush()
            connection.sendall(answer(mode, call, serial))
        received = b""


def main():
    mode, log_path, *command = sys.argv[1:]
    os.makedirs(os.path.dirname(PATH), exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(PATH)
    listener.listen()
    child = os.fork()
    if child == 0:
        os.execvp(command[0], command)
    # Whoever serves need not be process 1, who has listened.
    server = os.fork()
    if server == 0:
        with open(log_path, "a", encoding="ascii") as log:
            while True:
                connection, _ = listener.accept()
                with connection:
                    try:
                        serve(mode, connection, log)
                    except OSError:
                        pass  # the hook has gone
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(os.waitstatus_to_exitcode(status) & 0xff)


if __name__ == "__main__":
    main()
