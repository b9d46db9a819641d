# SPDX-License-Identifier: Apache-2.0
"""What README.md and docs/moving-over.md tell people to type."""

import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]


def blocks(heading):
    """The examples of a section: (command, what it prints) of each line with `$ `, or else (line, None)."""
    text = (PROJECT / "README.md").read_text("utf-8")
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]
    found = []
    for block in re.findall(r"(?:^    .*\n)+", section, re.MULTILINE):
        lines = [line.removeprefix("    ") for line in block.replace("\\\n", "").splitlines()]
        if not lines[0].startswith("$ "):
            found += [(line, None) for line in lines]
            continue
        for line in lines:
            if line.startswith("$ "):
                found.append((line[2:], ""))
            else:
                found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def moving_over():
    """The commands of that page that do not need a GPU."""
    text = (PROJECT / "docs/moving-over.md").read_text("utf-8").replace("\\\n", "")
    return re.findall(r"^    (oci-gpu-hooks (?!plan ).*)$", text, re.MULTILINE)


def pattern_of(text):
    """As a regular expression: lines are folded, `[…]` is anything, and an id is another one each time."""
    words = re.escape(" ".join(text.split())).replace(re.escape("[…]"), ".*")
    return re.sub(r"container\\ [0-9a-f]{12}", r"container\\ [0-9a-f]{12}", words)
