# SPDX-License-Identifier: Apache-2.0
"""Where the text of a mutant stands, and a copy of the project in which it is changed."""

import filecmp
import shutil
import subprocess
from pathlib import Path

from table import Wrong

TOP = Path(__file__).resolve().parents[2]
BELOW = ("admin", "common", "hooks", "examples")


def find(top, file):
    """The one file of that name below one of BELOW; directories in front of it are some that it lies in."""
    *directories, name = file.split("/")
    found = [path for below in BELOW for path in (top / below).rglob(name)
             if set(directories) <= set(path.relative_to(top).parts)]
    if len(found) != 1:
        raise Wrong(f"{file}: {len(found)} files have that name")
    return found[0]


def changed(top, mutant):
    """The file, and its text with the mutant in it."""
    path = find(top, mutant.file)
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.text) != 1:
        raise Wrong(f"{mutant.defence}: its text stands {text.count(mutant.text)} times in {mutant.file}")
    return path, text.replace(mutant.text, mutant.instead)


class Copy:
    """A copy of the project, in which one file at a time is not as it should be. What an earlier run has left is used
    again: a file that is the same stays, so that it is not compiled once more."""

    def __init__(self, directory):
        self.top = directory
        self._changed = None
        wanted = set(self._files())
        for name in wanted:
            place = self.top / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.is_file() or not filecmp.cmp(TOP / name, place, shallow=False):
                shutil.copy(TOP / name, place)
                place.touch()
        for path in self.top.rglob("*"):
            name = path.relative_to(self.top)
            if path.is_file() and name.parts[0] != "build" and str(name) not in wanted:
                path.unlink()
        for name in ("deps", "roots", "vm"):
            (self.top / "build").mkdir(exist_ok=True)
            if (TOP / "build" / name).exists() and not (self.top / "build" / name).exists():
                (self.top / "build" / name).symlink_to((TOP / "build" / name).resolve())

    @staticmethod
    def _files():
        """What is committed, and what is new and not ignored."""
        listed = subprocess.run(
            ["git", "-c", f"safe.directory={TOP}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=TOP, check=True, capture_output=True, text=True).stdout.split("\0")
        return [name for name in listed if name and (TOP / name).is_file()]

    def apply(self, mutant):
        """Only this one. The file of the one before is compiled again together with that of the next."""
        path, text = changed(TOP, mutant)
        name = path.relative_to(TOP)
        if self._changed not in (None, name):
            self.restore()
        (self.top / name).write_text(text, encoding="utf-8")
        self._changed = name

    def restore(self):
        shutil.copy(TOP / self._changed, self.top / self._changed)
        (self.top / self._changed).touch()
