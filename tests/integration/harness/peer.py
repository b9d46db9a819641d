# SPDX-License-Identifier: Apache-2.0
"""Run as a program, `peer.py PID [USER-NAMESPACE]`: tries to get hold of another process, and prints how
each try ended: `what: done` or `what: EPERM`. With a path to a user namespace it first becomes that
namespace's root, with all capabilities in it."""

import ctypes
import errno
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWUSER = 0x10000000
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")


def read_memory(pid):
    class Area(ctypes.Structure):  # struct iovec
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        start = int(maps.readline().split("-")[0], 16)
    here = ctypes.create_string_buffer(16)
    checked(LIBC.process_vm_readv(pid, ctypes.byref(Area(ctypes.addressof(here), 16)), 1,
                                  ctypes.byref(Area(start, 16)), 1, 0))


def copy_descriptor(pid):
    pidfd = os.pidfd_open(pid)
    checked(LIBC.syscall(438, pidfd, 0, 0))  # pidfd_getfd


TRIES = {
    "look at a descriptor": lambda pid: os.readlink(f"/proc/{pid}/fd/0"),
    "open the root": lambda pid: os.listdir(f"/proc/{pid}/root"),
    "open the working directory": lambda pid: os.listdir(f"/proc/{pid}/cwd"),
    "open the executable": lambda pid: os.open(f"/proc/{pid}/exe", os.O_RDONLY),
    "open the memory": lambda pid: os.open(f"/proc/{pid}/mem", os.O_RDWR),
    "read the memory": read_memory,
    "copy a descriptor": copy_descriptor,
    "seize": lambda pid: checked(LIBC.ptrace(PTRACE_SEIZE, pid, 0, 0)),
}


def main(pid, *namespace):
    for path in namespace:
        checked(LIBC.setns(os.open(path, os.O_RDONLY), CLONE_NEWUSER))
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
    for name, attempt in TRIES.items():
        try:
            attempt(int(pid))
            print(f"{name}: done")
        except OSError as error:
            print(f"{name}: {errno.errorcode[error.errno].replace('EACCES', 'EPERM')}")


if __name__ == "__main__":
    main(*sys.argv[1:])
