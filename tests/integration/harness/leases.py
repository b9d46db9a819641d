# SPDX-License-Identifier: Apache-2.0
"""Containers that have GPUs for as long as a test wants, and what --list says of who has them."""

import json
import os
import signal
import subprocess
import time

from .host import LIMIT_S
from .stopped import wait_until

DIRECTORY = "run/oci-gpu-hooks/leases"
FREE = {"lease": "free"}


def ask(box, key, lease=None, wait=None):
    """The annotations of the hook with this key."""
    if lease:
        box.annotations[f"{key}.lease"] = lease
    if wait:
        box.annotations[f"{key}.wait"] = wait
    return box


def read_state(sysroot):
    """What the state says, as `jq` sees it."""
    return json.loads((sysroot / DIRECTORY / "state").read_text("ascii"))


def state_text(**members):
    """A state that the hooks read, with these members in place of none; see lease_file.h."""
    state = {"version": 1, "space": {}, "allocations": [], "tickets": [], "drains": [], "last_used": {}, "uses": 0,
             "numbers": 0}
    return json.dumps({**state, **members}, separators=(",", ":")) + "\n"


def counts(sysroot):
    """What has happened so far: LeaseCounts."""
    return read_state(sysroot)["counts"]


def refusals(sysroot):
    """By hook and exit status."""
    file = sysroot / DIRECTORY / "refusals"
    assert file.stat().st_mode & 0o7777 == 0o600
    return json.loads(file.read_text("ascii"))


def write_counts(sysroot, now, refused):
    """A state in which nobody has anything, and that has been counted."""
    with (open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot,
          open("/proc/1/stat", encoding="ascii") as first):
        space = {"boot": boot.read().strip(), "pid_namespace": os.stat("/proc/self/ns/pid").st_ino,
                 "start_time": int(first.read().rsplit(")", 1)[1].split()[19])}
    directory = sysroot / DIRECTORY
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "state").write_text(state_text(space=space, counts=now), encoding="ascii")
    (directory / "refusals").write_text(json.dumps(refused), encoding="ascii")
    (directory / "refusals").chmod(0o600)


class Container:
    """A container whose program says `ready`, and goes on until end(); meanwhile, `look` has said what is in `out`."""

    def __init__(self, box, look="true"):
        if hasattr(box, "options") and "--interactive" not in box.options:
            box.options.append("--interactive")
        self.box, self.out, self.result = box, "", None
        # An init that waits for its input is not at rest, and one that is does not hear of its end.
        self._rests = hasattr(box, "bundle") and box.bundle.init is not None
        self.run = box.start(f"{look}; echo ready; {'exec sleep 100000' if self._rests else 'read line || true'}")

    def ready(self):
        """Waits until the program runs."""
        stdout = self.run.process.stdout
        while (line := stdout.readline()) not in ("ready\n", ""):
            self.out += line
        if not line:
            result = self.end()
            raise AssertionError((result.code, result.err, result.said))
        return self

    def end(self):
        """Lets the program end, if it has not; gives the Result."""
        if self.result is None:
            was_killed = self._rests and self._kill_init()
            self.result = self.run.finish()
            if was_killed:
                self.result.code = 0
        return self.result

    def _kill_init(self):
        """Whether it lived, or lives when its hook has let it."""
        kill = self.box.host.command(self.box.runtime.command("kill", self.run.name, "KILL"))
        deadline = time.monotonic() + LIMIT_S
        while self.run.process.poll() is None and time.monotonic() < deadline:
            if subprocess.run(kill, check=False, capture_output=True).returncode == 0:
                return True
            time.sleep(.02)
        return False

    def kill(self):
        """SIGKILL of the engine, or of the runtime where there is none."""
        self.run.process.send_signal(signal.SIGKILL)
        self.run.process.wait(LIMIT_S)
        for file in (self.run.process.stdin, self.run.process.stdout, self.run.process.stderr):
            file.close()
        self.result = "killed"


class Leases:
    """--list of a hook on a host; `before` is a program that runs it."""

    def __init__(self, executable, sysroot, before=()):
        self._command = [*before, executable, "--sysroot", sysroot]

    def run(self, *args, before=()):
        """Runs the hook by hand."""
        return subprocess.run([os.fspath(word) for word in (*before, *self._command, *args)], check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=LIMIT_S)

    def read(self, before=()):
        """The whole list."""
        process = self.run("--list=json", before=before)
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout)

    def rows(self, *columns):
        """Who has or waits for GPUs: of each these columns."""
        return [tuple(row[column] for column in columns) for row in self.read()["leases"]]

    def waiting(self):
        """The ids of those that wait, in the order of the queue."""
        return [name for name, state in self.rows("container", "state") if state == "waiting"]

    def wait_for(self, *names, process=None):
        """Until just these containers wait, in this order."""
        wait_until(lambda: self.waiting() == list(names), f"{names} do not wait", process)

    def are_free(self):
        """Nobody has or waits for anything."""
        found = self.read()
        return not found["leases"] and {gpu["lease"] for gpu in found["gpus"]} == {"free"}
