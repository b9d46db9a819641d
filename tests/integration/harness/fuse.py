# SPDX-License-Identifier: Apache-2.0
"""A filesystem whose daemon does not answer, and hooks that wait for it."""

import re
import signal
import subprocess
import sys
from pathlib import Path

from .stopped import status

SERVER = Path(__file__).parent / "fuse_server.py"
TIMER, WAIT = r"setitimer\(.*it_value=\{tv_sec=(\d+),", r"ppoll\(.*\{tv_sec=(\d+),"


class Volume:
    """A directory on which harness.fuse_server is mounted in the mount namespace of a process."""

    def __init__(self, pid, directory, *program):
        self.directory = directory
        directory.mkdir()
        self._server = subprocess.Popen([sys.executable, SERVER, str(pid), directory, *program],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert self._server.stdout.read(1) == b"\n", "no FUSE filesystem"

    def stand_still(self):
        """From now on nothing is answered."""
        self._server.send_signal(signal.SIGSTOP)

    def close(self):
        """Ends the server; then the kernel answers what it did not, with an error. May be repeated."""
        self._server.kill()
        self._server.wait()
        self._server.stdout.close()


class Patience:
    """The hook of a box, for which time passes quickly: strace tells it after some seconds that what it waits for has
    not come within its time. Its children are not traced: a tracer would change how they can be ended."""

    def __init__(self, box):
        self._trace = box.bundle.directory / "waits"
        self._mark = f"MARK={box.bundle.directory}"
        box.wrapper = ("/usr/bin/env", self._mark, "/usr/bin/strace", "-D", "-qq", "-o", self._trace,
                       "-e", "trace=ppoll,setitimer", "-e", "inject=ppoll:delay_enter=4000000:retval=0:when=1")

    def seconds(self):
        """For how long its timer was set first, and how long it would have waited for its child at first."""
        trace = self._trace.read_text()
        return int(re.search(TIMER, trace)[1]), int(re.search(WAIT, trace)[1])

    def left(self):
        """The states of the processes that are left of it: "D" waits where no signal helps."""
        states = []
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                if self._mark.encode() in (directory / "environ").read_bytes().split(b"\0"):
                    states.append(status(directory.name)["State"][0])
            except OSError:
                pass  # gone meanwhile
        return states
