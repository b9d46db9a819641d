# SPDX-License-Identifier: Apache-2.0
"""Run as a program, `exchange.py A B`: makes two names of one folder change places (renameat2 with
RENAME_EXCHANGE), as fast as it can, until it is killed. With `storm FOLDER` it renames in a folder
that has nothing to do with anything."""

import ctypes
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def exchange(first, second):
    a, b = os.fsencode(first), os.fsencode(second)
    while True:
        LIBC.renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE)


def storm(folder):
    a, b = (os.path.join(folder, f"{os.getpid()}-{n}") for n in range(2))
    os.mkdir(a)
    while True:
        os.rename(a, b)
        os.rename(b, a)


if __name__ == "__main__":
    if sys.argv[1] == "storm":
        storm(sys.argv[2])
    else:
        exchange(sys.argv[1], sys.argv[2])
