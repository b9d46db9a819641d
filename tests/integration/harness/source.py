# SPDX-License-Identifier: Apache-2.0
"""The host's source directory: what the hook may hand out."""


class Source:
    """A directory made by the test in place of the host's /srv."""

    def __init__(self, path):
        self.path = path
        path.mkdir()

    def __truediv__(self, name):
        return self.path / name

    def __str__(self):
        return str(self.path)

    __fspath__ = __str__

    def directory(self, name, words=None):
        """An entry that is a directory, with one file `words` in it."""
        (self.path / name).mkdir(parents=True)
        self.write(f"{name}/words", words or f"words of {name}\n")
        return self.path / name

    def directories(self, *names):
        for name in names:
            self.directory(name)

    def write(self, name, text):
        (self.path / name).write_text(text, encoding="utf-8", errors="surrogateescape")

    def link(self, name, target):
        (self.path / name).symlink_to(target)


def tree(directory):
    """Everything below a directory, to compare before with after: kind, mode, owner, content."""
    seen = {}
    for path in sorted(directory.rglob("*")):
        status = path.lstat()
        content = None
        if path.is_symlink():
            content = path.readlink()
        elif path.is_file():
            content = path.read_bytes()
        seen[path.relative_to(directory)] = (status.st_mode, status.st_uid, status.st_gid, content)
    return seen


def host_tree(directory):
    """The same of a host, but for what hooks write down there: who has which GPU, and who had."""
    return {path: what for path, what in tree(directory).items() if path.parts[0] not in ("run", "var")}
