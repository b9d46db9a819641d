# SPDX-License-Identifier: Apache-2.0
"""What an attack must not reach: a directory of the host, and names in the host's own root."""

import os
from contextlib import contextmanager

from .source import tree


@contextmanager
def unchanged(directory, *paths):
    """The directory is the same afterwards, its files' times and inodes too; of `paths` there are as many as before."""
    def seen():
        times = [(path, path.lstat().st_mtime_ns, path.lstat().st_ino)
                 for path in sorted([directory, *directory.rglob("*")])]
        return tree(directory), times, [path for path in paths if os.path.lexists(path)]

    before = seen()
    yield directory
    assert seen() == before
