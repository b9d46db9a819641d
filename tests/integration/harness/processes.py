# SPDX-License-Identifier: Apache-2.0
"""Processes of this machine, by their numbers."""

import os
from pathlib import Path


def children(pid):
    """The processes that this one has started."""
    found = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # Path.glob() lets the error out if the process goes meanwhile
    except OSError:
        return found
    for task in tasks:
        try:
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii").split())
        except OSError:
            pass  # gone meanwhile
    return found


def descendant(pid, executable):
    """The process below this one that runs the file, or None."""
    for child in children(pid):
        try:
            if os.path.samefile(f"/proc/{child}/exe", executable):
                return child
        except OSError:
            continue
        if found := descendant(child, executable):
            return found
    return None
