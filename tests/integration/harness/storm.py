# SPDX-License-Identifier: Apache-2.0
"""Many containers that compete for few GPUs, some of which are killed, or their runtimes, or their hooks; and what
each has at a moment, seen from outside: the nodes in its /dev, as long as its init lives."""

import os
import re
import select
import signal
import time
from pathlib import Path

from .host import LIMIT_S
from .processes import children, descendant

FATES = ["ends"] * 5 + ["init", "hook", "runtime"]  # what is killed
AT_ONCE = 24


def is_init(pid):
    """Whether it is the first process of a pid namespace of its own: the program's, and no hook."""
    try:
        numbers = re.search(r"^NSpid:\t(.*)$", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return False
    numbers = numbers[1].split() if numbers else []
    return len(numbers) > 1 and numbers[-1] == "1"


def ended(pidfd):
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


class Member:
    """A container of a storm: `count` GPUs in this mode; `fate` after `delay` seconds."""

    def __init__(self, box, script, count, mode, fate, delay):
        self.count, self.mode, self.fate, self._delay = count, mode, fate, delay
        self._executable, self._due, self._pidfd, self.pid = box.hook.executable, None, None, None
        self.run = box.start(script)
        self.result, self.is_orphan = None, False

    def find_init(self):
        """Holds the init process as soon as there is one."""
        if self._pidfd is not None:
            return
        for pid in children(self.run.process.pid):
            if is_init(pid):
                try:
                    self._pidfd = os.pidfd_open(pid)
                except ProcessLookupError:
                    continue  # it ended meanwhile
                self.pid = pid
                return

    def nodes(self):
        """Those of GPUs that the container has now."""
        try:
            names = os.listdir(f"/proc/{self.pid}/root/dev") if self.pid else ()
        except OSError:
            return set()
        return {name for name in names if re.fullmatch(r"nvidia\d+", name)}

    def lives(self):
        return self._pidfd is not None and not ended(self._pidfd)

    def _victim(self):
        if self.fate == "hook":
            return descendant(self.run.process.pid, self._executable)
        if self.fate == "init" and self.lives():
            return self.pid
        return self.run.process.pid if self.fate == "runtime" and self.pid else None

    def meet_fate(self):
        """Kills what is to be killed, some time after it was seen first."""
        victim = self._victim() if self.run.process.poll() is None else None
        if victim is None:
            return
        self._due = self._due or time.monotonic() + self._delay
        if time.monotonic() < self._due:
            return
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            return  # ended by itself
        self.is_orphan = self.fate == "runtime"
        self.fate = "was killed"

    def kill_init(self):
        if self.lives():
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def is_abandoned(self):
        """Its runtime was killed when the container was made and not started; then it never ends by itself."""
        return self.is_orphan and self.run.process.poll() is not None and self.lives() and not self.has_started()

    def has_started(self):
        """Whether its init has become its program."""
        try:
            return "busybox" in os.readlink(f"/proc/{self.pid}/exe")
        except OSError:
            return False

    def is_over(self):
        return self.run.process.poll() is not None and not self.lives()

    def finish(self):
        self.result = self.run.finish()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None


def conflicts(members):
    """Which of them have a GPU at the same time that they may not: looked at twice, so that what both looks have seen
    was there between them."""
    first = [member.nodes() for member in members]
    second = [member.nodes() for member in members]
    has = [(member, a & b) for member, a, b in zip(members, first, second) if a & b and member.lives()]
    return [(one.run.name, one.mode, other.run.name, other.mode, nodes & others)
            for number, (one, nodes) in enumerate(has) for other, others in has[number + 1:]
            if nodes & others and "exclusive" in (one.mode, other.mode)]


def rage(starts, seen=lambda members: None):
    """Starts the members, each by one of the functions `starts`, as many at once as may be, until all of them are over.
    Gives the members; `seen` is called at each look."""
    members, live = [], []
    starts = list(starts)
    deadline = time.monotonic() + LIMIT_S + len(starts)
    while starts or live:
        while starts and len(live) < AT_ONCE:
            members.append(starts.pop()())
            live.append(members[-1])
        for member in live:
            member.find_init()
            member.meet_fate()
            if member.is_abandoned():
                member.kill_init()
        found = conflicts(live)
        assert not found, found
        seen(live)
        for member in [member for member in live if member.is_over()]:
            member.finish()
            live.remove(member)
        assert time.monotonic() < deadline, [(each.run.name, each.mode, each.fate) for each in live]
        time.sleep(0.002)
    return members
