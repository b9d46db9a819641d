# SPDX-License-Identifier: Apache-2.0
"""A hook that stands still in the middle of its work, and that nobody traces."""

import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path

from .host import LIMIT_S


def status(pid):
    """/proc/PID/status as a dictionary."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return dict(line.split(":\t", 1) for line in lines)


def find(executable, word):
    """The process that runs `executable` with `word` among its arguments, or None."""
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if (os.readlink(directory / "exe") == str(executable)
                    and os.fsencode(word) in (directory / "cmdline").read_bytes()):
                return int(directory.name)
        except OSError:
            pass  # gone meanwhile
    return None


def wait_until(reached, what, process=None):
    """Asks until there is an answer, which it gives; not longer than `process` runs."""
    deadline = time.monotonic() + LIMIT_S
    while not (found := reached()):
        ended = process is not None and process.poll() is not None
        assert time.monotonic() < deadline and not ended, what
        time.sleep(0.002)
    return found


@contextmanager
def hook_stopped(box, call, when=1, before=()):
    """Starts the container; the block runs while the hook stands behind its system call of that name,
    the first one or number `when`. `before`: a program that starts the hook."""
    trace = box.bundle.directory / "stopped"
    trace.write_text("")
    box.wrapper = (*before, "/usr/bin/strace", "-D", "-qq", "-o", trace, "-e", f"trace={call}",
                   "-e", f"inject={call}:signal=SIGSTOP:when={when}")
    stop = Stop(box.start("echo started; ls -l /proc/self/fd; readlink /proc/self/cwd"))
    try:
        stop.pid = wait_until(lambda: find(box.hook.executable, str(box.args[1])), "no hook",
                              stop.run.process)
        wait_until(lambda: "stopped by SIGSTOP" in trace.read_text(), "the hook does not stop",
                   stop.run.process)
        tracer = int(status(stop.pid)["TracerPid"])
        os.kill(tracer, signal.SIGKILL)
        wait_until(lambda: status(stop.pid)["State"].startswith("T"), "the hook goes on")
        yield stop
    finally:
        if stop.pid:
            os.kill(stop.pid, signal.SIGCONT)
        stop.result = stop.run.finish()


class Stop:
    """`pid` of the hook; and afterwards `result` of the container."""

    def __init__(self, run):
        self.run, self.pid, self.result = run, None, None
