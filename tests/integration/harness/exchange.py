# SPDX-License-Identifier: Apache-2.0
"""Run as a program, `exchange.py A B`: makes two names of one directory change places (renameat2 with
RENAME_EXCHANGE), as fast as it can, until it is killed. With `storm DIRECTORY` it renames in a directory
that has nothing to do with anything. Tests start it with running(), and go on for as long as rounds() lets
them: RACE_SECONDS, or one."""

import contextlib
import ctypes
import os
import subprocess
import sys
import time

SECONDS = float(os.environ.get("RACE_SECONDS", "1"))
LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def exchange(first, second):
    a, b = os.fsencode(first), os.fsencode(second)
    while True:
        LIBC.renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE)


def storm(directory):
    a, b = (os.path.join(directory, f"{os.getpid()}-{n}") for n in range(2))
    os.mkdir(a)
    while True:
        os.rename(a, b)
        os.rename(b, a)


@contextlib.contextmanager
def running(*arguments):
    program = subprocess.Popen([sys.executable, __file__, *map(os.fspath, arguments)])
    try:
        yield
    finally:
        program.kill()
        program.wait()


def rounds():
    """Counts up while there is time, and three times at least."""
    number, end = 0, time.monotonic() + SECONDS
    while number < 3 or time.monotonic() < end:
        yield number
        number += 1


if __name__ == "__main__":
    if sys.argv[1] == "storm":
        storm(sys.argv[2])
    else:
        exchange(sys.argv[1], sys.argv[2])
