# SPDX-License-Identifier: Apache-2.0
"""Many containers that compete for few GPUs, some of which are killed, or their runtimes, or their hooks; and what
each has at a moment, as long as its init lives: the nodes in its /dev, or those of them that can be opened in it."""

import errno
import json
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
GPU = re.compile(r"nvidia\d+")


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


def device_cgroup(pid):
    """The file by which a process comes into the cgroup that says what this one may open."""
    paths = {}
    for line in Path(f"/proc/{pid}/cgroup").read_text("utf-8").splitlines():
        _, names, path = line.split(":", 2)
        paths.update(dict.fromkeys(names.split(","), path))
    if "devices" in paths:
        return f"/sys/fs/cgroup/devices{paths['devices']}/tasks"
    return f"/sys/fs/cgroup{paths['']}/cgroup.procs"


def open_inside(member):
    """Has this process go into the device cgroup of a container, and gives the GPUs whose nodes it can open there."""
    found, names = [], member.nodes()
    try:
        if names:
            with open(device_cgroup(member.pid), "w", encoding="ascii") as file:
                file.write("0")
    except OSError:
        return found  # it has ended
    for name in names:
        try:
            os.close(os.open(f"/proc/{member.pid}/root/dev/{name}", os.O_RDWR | os.O_NONBLOCK))
        except OSError as error:
            if error.errno not in (errno.ENXIO, errno.ENODEV):  # it may, and no driver is behind it
                continue
        found.append(name)
    return found


def opened(members):
    """Of each member, twice, the GPUs that it may open now: tried by a process that goes from one to the next, as `runc
    exec` brings one into a container."""
    readable, writable = os.pipe()
    if (child := os.fork()) == 0:
        try:
            looks = [[open_inside(member) for member in members] for _ in range(2)]
            os.write(writable, json.dumps(looks).encode())
        finally:
            os._exit(0)
    os.close(writable)
    with open(readable, encoding="ascii") as file:
        text = file.read()
    os.waitpid(child, 0)
    return [[set(found) for found in look] for look in json.loads(text)]


def shown(members):
    """Of each member, twice, the GPUs that have a node in it."""
    return [[member.nodes() for member in members] for _ in range(2)]


class Member:
    """A container of a storm: `count` GPUs in this mode; `fate` after `delay` seconds. `has` is what it was seen to
    have last."""

    has = frozenset()

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
        return {name for name in names if GPU.fullmatch(name)}

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


def conflicts(members, look):
    """Which of them have a GPU at the same time that they may not: `look` looks twice, so that what both looks have seen
    was there between them."""
    for member, first, second in zip(members, *look(members)):
        member.has = first & second if member.lives() else set()
    return [(one.run.name, one.mode, other.run.name, other.mode, one.has & other.has)
            for number, one in enumerate(members) for other in members[number + 1:]
            if one.has & other.has and "exclusive" in (one.mode, other.mode)]


def rage(starts, seen=lambda members: None, look=shown):
    """Starts the members, each by one of the functions `starts`, as many at once as may be, until all of them are over.
    Gives the members; `seen` is called at each `look` at what they have."""
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
        found = conflicts(live, look)
        assert not found, found
        seen(live)
        for member in [member for member in live if member.is_over()]:
            member.finish()
            live.remove(member)
        assert time.monotonic() < deadline, [(each.run.name, each.mode, each.fate) for each in live]
        time.sleep(0.002)
    return members
