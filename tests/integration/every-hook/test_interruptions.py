# SPDX-License-Identifier: Apache-2.0
"""Each hook is told to end or is killed at one of its system calls, from the first on. Told to end, it leaves the image,
the host and the leases as they were. What a killed one leaves has a name that is known, and the next run takes it away.
Tried at a few calls; where INTERRUPTIONS says `all`, at each one. It is killed at those alone that may change something,
and at the ones behind them: what a killed process leaves is what it has changed, so that others leave the same."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.box import PREFIX
from harness.every_hook import NAMES, box_of
from harness.leases import DIRECTORY
from harness.source import host_tree, tree

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures", "harness.ldcache_fixtures",
                  "harness.driver_fixtures", "harness.cdi_fixtures"]

pytestmark = pytest.mark.usefixtures("first_process_unseen")

FEW = 25
# Nothing that outlives the process is changed by these, except by an open that makes or empties a file.
WRITES = re.compile("O_(CREAT|TMPFILE|TRUNC)")
LOOKS = re.compile(
    r"(access|arch_prctl|brk|capget|capset|clock_\w+|close|close_range|dup\d?|epoll_\w+|f?statf?s?|newfstatat|faccessat2?|fcntl"
    r"|f?getxattr|getdents64|get\w+|kcmp|lgetxattr|lseek|lstat|madvise|mmap|mprotect|munmap|open(at2?)?|pidfd_open|poll|ppoll"
    r"|prctl|pread64|prlimit64|read|readlink(at)?|rseq|rt_sig\w+|set_robust_list|set_tid_address|sigaltstack|statx|uname)$")


class Call(NamedTuple):
    """A system call: the one of this number of its name."""

    name: str
    when: int
    changes: bool  # may change something that outlives the process


class Walk:
    """A container of a hook, with an image that is the same before each run."""

    def __init__(self, name, fixture, scratch):
        self.box, self._key, self._directory = box_of(name, fixture), PREFIX + name, scratch
        # Behind --sysroot; the directory that is mounted where there is none.
        self._host = Path(self.box.args[1]) if "--sysroot" in self.box.args else fixture("srv").path
        self._pristine = scratch / "pristine"
        subprocess.run(["/bin/cp", "-a", self.box.rootfs, self._pristine], check=True)
        asked = dict(self.box.annotations)
        self.box.config["annotations"] = {name: value for name, value in asked.items() if not name.startswith(self._key)}
        self.run()
        self.image, self.host = tree(self.box.rootfs), host_tree(self._host)
        self.box.config["annotations"] = asked
        if name not in ("mount-srv", "ldcache-update"):
            self.box.annotations[f"{self._key}.lease"] = "exclusive"
        self.calls = self._calls()
        self.image_when_done = tree(self.box.rootfs)

    def renew(self):
        """Undoes what was done to the image."""
        shutil.rmtree(self.box.rootfs)
        subprocess.run(["/bin/cp", "-a", self._pristine, self.box.rootfs], check=True)

    def run(self, *options):
        """A run with these options of strace, or without it."""
        self.box.wrapper = ("/usr/bin/strace", "-D", "-qq", *options) if options else ()
        result = self.box.run("true")
        assert options or result.code == 0, (result.err, result.said)
        return result

    def interrupted(self, call, signal):
        """A run on a new image, which gets this signal at this call."""
        self.renew()
        return self.run("-o", "/dev/null", "-e", f"inject={call.name}:signal={signal}:when={call.when}")

    def _calls(self):
        """The system calls of a run, in their order."""
        trace = self._directory / "trace"
        self.renew()
        self.run("-o", trace, "-e", "trace=all")
        counts, calls = {}, []
        for name, arguments in re.findall(r"^(\w+)\((.*)", trace.read_text(errors="replace"), re.MULTILINE):
            counts[name] = counts.get(name, 0) + 1
            calls.append(Call(name, counts[name], not LOOKS.match(name) or bool(WRITES.search(arguments))))
        return calls

    def some_calls(self, turn, killed=False):
        """All of them, or a few: the two signals of a test go one way, and take turns at these."""
        if os.environ.get("INTERRUPTIONS") != "all":
            return self.calls[::max(1, len(self.calls) // FEW)][turn::2]
        before = [self.calls[0], *self.calls]
        return [call for call, last in zip(self.calls, before) if not killed or call.changes or last.changes]

    def host_is_unchanged(self):
        """But for who has which device."""
        return host_tree(self._host) == self.host

    def has_lease(self, container):
        """Whether it has or waits for devices, as the file says."""
        file = self._host / DIRECTORY / "state"
        return file.exists() and f'"container":"{container}"' in file.read_text()


@pytest.fixture(name="walk", params=NAMES)
def walk_fixture(request, scratch):
    return Walk(request.param, request.getfixturevalue, scratch)


@pytest.mark.parametrize("turn, signal", enumerate(["TERM", "HUP"]))
def test_told_to_end_it_leaves_nothing(walk, turn, signal):
    ended = 0
    for call in walk.some_calls(turn):
        result = walk.interrupted(call, signal)
        wanted = walk.image if result.code else walk.image_when_done
        ended += result.code != 0
        assert tree(walk.box.rootfs) == wanted, (call, result)
        assert walk.host_is_unchanged() and not (result.code and walk.has_lease(result.name)), (call, result)
    assert ended > 1


@pytest.mark.parametrize("turn, signal", enumerate(["KILL", "ALRM"]))
def test_what_a_killed_one_leaves_goes_with_the_next_run(walk, turn, signal):
    ended = 0
    for call in walk.some_calls(turn, killed=True):
        result = walk.interrupted(call, signal)
        ended += result.code != 0
        left = [str(path) for path in tree(walk.box.rootfs)
                if path not in walk.image and path not in walk.image_when_done]
        assert all("/.oci-gpu-hooks-" in f"/{path}" for path in left), (call, left)
        walk.run()
        assert tree(walk.box.rootfs) == walk.image_when_done, call
        assert walk.host_is_unchanged(), call
    assert ended > 1
