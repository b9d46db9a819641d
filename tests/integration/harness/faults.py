# SPDX-License-Identifier: Apache-2.0
"""Faults in the middle of a hook, by strace: what it injects, and where it can."""

import re

from .expect import started


def strace(*args):
    """strace as a descendant of the hook, which so stays the runtime's own child."""
    return ("/usr/bin/strace", "-D", "-f", "-qq", "-o", "/dev/null", *args)


# A hook that is killed at another call has left what it leaves at the next one of these.
CHANGING = ("bind", "clone", "fchmod", "fchown", "fchownat", "fsconfig", "fsmount", "linkat", "memfd_create", "mkdirat",
            "mknodat", "mount_setattr", "move_mount", "open_tree", "openat2", "renameat2", "setfsuid", "setns",
            "symlinkat", "unlinkat", "unshare", "utimensat", "write")


def changing_calls(box, script, words):
    """How often the hook makes each system call that changes something, after its start, from a run that succeeds:
    `script` prints `words`. Its children's do not count."""
    trace = box.bundle.directory / "trace"
    box.wrapper = ("/usr/bin/strace", "-D", "-qq", "-o", trace, "-e", "trace=all")
    assert started(box.run(script)) == words
    box.wrapper = ()
    calls = re.findall(r"^(\w+)\(", trace.read_text(errors="replace"), re.MULTILINE)
    return {name: calls.count(name) for name in calls if name in CHANGING}
