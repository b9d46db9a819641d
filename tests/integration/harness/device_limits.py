# SPDX-License-Identifier: Apache-2.0
"""A cgroup that keeps some devices from what runs in it, by either version's means: as in a job of a batch system."""

import ctypes
import os
import struct
import time
from pathlib import Path

DEVICES, UNIFIED = Path("/sys/fs/cgroup/devices"), Path("/sys/fs/cgroup/unified")
SYS_BPF, PROG_LOAD, PROG_ATTACH, DEVICE_PROGRAM, DEVICE_ATTACH, ALLOW_MULTI = 321, 5, 8, 15, 6, 2
if os.uname().machine == "aarch64":
    SYS_BPF = 280


def program(major, minors):
    """Instructions that answer 0 for these nodes, and 1 for all others; linux/bpf.h has the codes."""
    words = []

    def insn(code, to=0, source=0, offset=0, value=0):
        words.append(struct.pack("<BBhi", code, source << 4 | to, offset, value))

    insn(0x61, to=2, source=1, offset=4)  # the major number
    insn(0x61, to=3, source=1, offset=8)  # the minor number
    insn(0x55, to=2, offset=len(minors), value=major)  # another major: past the comparisons
    for left in range(len(minors), 0, -1):
        insn(0x15, to=3, offset=left + 1, value=minors[-left])
    insn(0xB7, to=0, value=1)
    insn(0x95)
    insn(0xB7, to=0, value=0)
    insn(0x95)
    return b"".join(words)


def bpf(command, attributes):
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(SYS_BPF, command, attributes, len(attributes))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command})")
    return result


def attach(directory, code):
    text = ctypes.create_string_buffer(code)
    licence = ctypes.create_string_buffer(b"Apache-2.0")
    loaded = bpf(PROG_LOAD, struct.pack("<IIQQIIQ", DEVICE_PROGRAM, len(code) // 8, ctypes.addressof(text),
                                        ctypes.addressof(licence), 0, 0, 0))
    group = os.open(directory, os.O_DIRECTORY)
    try:
        bpf(PROG_ATTACH, struct.pack("<IIII", group, loaded, DEVICE_ATTACH, ALLOW_MULTI))
    finally:
        os.close(group)
        os.close(loaded)


class DeviceLimits:
    """`version` is "v1" or "v2"."""

    def __init__(self, version, major, minors):
        self.directory = (DEVICES if version == "v1" else UNIFIED) / f"oci-gpu-hooks-test-{os.getpid()}-{version}"
        self.directory.mkdir()
        if version == "v2":
            attach(self.directory, program(major, minors))
            return
        for minor in minors:  # not "m": below it runc could not allow "c *:* m"
            (self.directory / "devices.deny").write_text(f"c {major}:{minor} rw", encoding="ascii")

    @property
    def wrapper(self):
        """What starts a program in there."""
        return ["sh", "-c", f'echo $$ >{self.directory}/cgroup.procs && exec "$@"', "sh"]

    def put_on(self, host):
        """From now on the host's commands start in there."""
        command = host.command
        host.command = lambda argv: [*self.wrapper, *command(argv)]

    def close(self):
        deadline = time.monotonic() + 10
        while self.directory.exists():
            try:
                for directory in [*(path for path in self.directory.rglob("*") if path.is_dir()), self.directory]:
                    directory.rmdir()
            except OSError:  # the last process is not gone yet
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
