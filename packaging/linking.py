# SPDX-License-Identifier: Apache-2.0
"""How the executables of a build directory were linked, and of what: asked of ninja and of the linker."""

import functools
import json
import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path


class Executable:
    """An executable that is installed, with the command by which it was linked."""

    def __init__(self, build, target):
        self.build = Path(build).resolve()
        self.name = target["name"]
        self.built = Path(target["filename"][0])
        self.installed = target["install_filename"][0]
        commands = run(["ninja", "-C", build, "-t", "commands", "-s", os.path.relpath(self.built, self.build)])
        self.command = shlex.split(commands.splitlines()[-1])

    def arguments(self):
        """Of the linker's command, without the compiler's name and the file that it writes."""
        words = self.command[1:]
        place = words.index("-o")
        return words[:place] + words[place + 2:]

    @functools.cached_property
    def linked_files(self):
        """What the linker takes, by linking once more: (path of an archive or object, member or None), in its order."""
        with tempfile.TemporaryDirectory() as directory:
            options = ["-o", f"{directory}/{self.name}", "-Wl,--strip-all,--trace,--trace"]
            said = run([self.command[0], *self.arguments(), *options], cwd=self.build)
        return list(dict.fromkeys(file for line in said.splitlines() for file in self.traced(line)))

    def traced(self, line):
        """An archive has a line of its own when it is opened, and that is not yet a member taken from it."""
        member = re.fullmatch(r"\((.+)\)(.+)", line)
        if member:
            yield self.real_path(member[1]), member[2]
        elif line.endswith(".o"):
            yield self.real_path(line), None

    def real_path(self, path):
        return (self.build / path).resolve()

    def headers(self):
        """What was included by the objects of ours that the linker takes."""
        own = {os.path.relpath(path, self.build) for path, _ in self.linked_files if self.build in path.parents}
        included, wanted = set(), False
        for line in run(["ninja", "-C", self.build, "-t", "deps"]).splitlines():
            if not line.startswith(" "):
                wanted = line.split(":")[0] in own
            elif wanted:
                included.add(line.strip())
        return {self.real_path(path) for path in included}


def run(command, cwd=None):
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=cwd, env=environment).stdout


def executables(build):
    """Those that are installed, by their names."""
    targets = json.loads(run(["meson", "introspect", build, "--targets"]))
    found = [Executable(build, target) for target in targets
             if target["type"] == "executable" and target["installed"]]
    return sorted(found, key=lambda executable: executable.name)


def is_of_debian(path):
    return subprocess.run(["dpkg-query", "-S", path], check=False, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def project_version(build):
    return json.loads(run(["meson", "introspect", build, "--projectinfo"]))["version"]
