# SPDX-License-Identifier: Apache-2.0
"""The build of the copy, made anew as far as its sources have changed."""

import json
import os
import subprocess
from pathlib import Path

CONFIGURE = ". tests/lib/build.sh; configure {} gcc -Dlink=static"


class DoesNotBuild(Exception):
    """A mutant has to be a program."""


def run(command, top):
    done = subprocess.run(command, cwd=top, env={**os.environ, "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise DoesNotBuild(f"{' '.join(map(str, command))}:\n{done.stdout[-3000:]}")
    return done.stdout


class Build:
    """A build directory in the copy at `top`, set up as tests/run sets up the static one."""

    def __init__(self, top):
        self.top, self.directory = top, top / "build/static"
        if not (self.directory / "build.ninja").exists():
            run(["bash", "-euc", CONFIGURE.format(self.directory)], top)
        self._files = None

    def file(self, target):
        """The executable that a meson file makes of this name."""
        return self._targets()[target]

    def make(self, targets):
        run(["ninja", "-C", self.directory, *(self.file(target).relative_to(self.directory) for target in sorted(targets))],
            self.top)

    def _targets(self):
        if self._files is None:
            listed = json.loads(run(["meson", "introspect", "--targets", self.directory], self.top))
            self._files = {target["name"]: Path(target["filename"][0]) for target in listed
                           if target["type"] == "executable"}
        return self._files
