# SPDX-License-Identifier: Apache-2.0
"""Low-level runtimes: how each is told to run a bundle, and where it says what went wrong."""

import re
import secrets
import subprocess
from dataclasses import dataclass

from . import host as host_module


@dataclass
class Result:
    """What came of a container: `out` is what its program printed, `err` the runtime's words
    (with the hook's message in them) and what its program printed as errors."""

    name: str
    code: int
    out: str
    err: str

    @property
    def hook_status(self):
        """The exit code of the hook that failed, or None."""
        found = re.search(r"exit status (\d+)", self.err)
        return int(found[1]) if found else None

    @property
    def hook_message(self):
        """What the hook that failed wrote to stderr."""
        found = re.search(r"stderr: (.*)", self.err, re.DOTALL)
        return found[1].strip() if found else ""


class Runc:
    """runc with a state folder of its own."""

    name = "runc"

    def __init__(self, folder):
        folder.mkdir()
        self._state = folder / "state"
        self._log = folder / "log"

    def command(self, *args):
        # With a log file the error goes to stderr as it is, without logfmt's quoting.
        return ["runc", "--root", self._state, "--log", self._log, *args]

    def start(self, host, bundle):
        """Start a container; gives a Run, to be finished."""
        name = secrets.token_hex(32)
        argv = self.command("run", "--bundle", bundle.folder, name)
        return Run(name, subprocess.Popen(
            host.command(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, encoding="utf-8", errors="surrogateescape"))

    def left_over(self):
        """Containers that the runtime still knows of."""
        return [entry.name for entry in self._state.iterdir()] if self._state.exists() else []

    def remove(self, host, name):
        host.run(self.command("delete", "--force", name), check=False)


@dataclass
class Run:
    """A container on its way."""

    name: str
    process: subprocess.Popen

    def finish(self):
        out, err = self.process.communicate(timeout=host_module.LIMIT_S)
        return Result(self.name, self.process.returncode, out, err)
