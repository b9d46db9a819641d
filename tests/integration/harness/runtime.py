# SPDX-License-Identifier: Apache-2.0
"""Low-level runtimes: how each is told to run a bundle, and where it says what went wrong."""

import re
import secrets
import subprocess
from dataclasses import dataclass

from . import host as host_module
from .journal import Journal


@dataclass
class Result:
    """What came of a container: `out` is what its program printed, `err` the runtime's words
    (runc's with the hook's message in them) and what its program printed as errors; `said` is what
    the hook wrote to syslog, on a host that keeps a journal."""

    name: str
    code: int
    out: str
    err: str
    said: tuple = ()

    @property
    def hook_status(self):
        """The exit code of the hook that failed, or None."""
        found = re.search(r"(?:exit status |exit code: )(\d+)", self.err)
        return int(found[1]) if found else None

    @property
    def hook_message(self):
        """The error of the hook that failed."""
        if self.said:
            return self.said[-1]
        found = re.search(r"stderr: (.*)", self.err, re.DOTALL)
        return found[1].strip() if found else ""


class Runc:
    """runc with a state directory of its own; `options` are further ones of its command, which is `run` or `create`."""

    name = "runc"

    def __init__(self, directory):
        directory.mkdir()
        self.options, self.verb = [], "run"
        self._state = directory / "state"
        self._log = directory / "log"

    def command(self, *args):
        # With a log file the error goes to stderr as it is, without logfmt's quoting.
        return ["runc", "--root", self._state, "--log", self._log, *args]

    def start(self, host, bundle):
        """Start a container; gives a Run, to be finished."""
        name = secrets.token_hex(32)
        return begin(host, name, self.command(self.verb, *self.options, "--bundle", bundle.directory, name))

    def left_over(self):
        """Containers that the runtime still knows of."""
        return [entry.name for entry in self._state.iterdir()] if self._state.exists() else []

    def clean(self, host):
        for name in self.left_over():
            host.run(self.command("delete", "--force", name), check=False)


class Crun(Runc):
    """crun: nothing that a hook prints is shown, so its hosts keep a journal."""

    name = "crun"

    def command(self, *args):
        return ["crun", "--root", self._state, *args]


@dataclass
class Run:
    """A container on its way."""

    name: str
    process: subprocess.Popen
    journal: Journal = None

    def finish(self):
        out, err = self.process.communicate(timeout=host_module.LIMIT_S)
        self._ended()
        said = self.journal.messages(self.name) if self.journal else ()
        return Result(self.name, self.process.returncode, out, err, tuple(said))

    def _ended(self):
        """Before the result is made."""


def begin(host, name, argv):
    """Start the program that runs a container; gives its Run."""
    # A pipe for stdin, not /dev/null: crun gives what it finds there to the container's root.
    return Run(name, subprocess.Popen(
        host.command(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, encoding="utf-8", errors="surrogateescape"), host.journal)
