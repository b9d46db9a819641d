# SPDX-License-Identifier: Apache-2.0
"""What the pages tell people to type: their blocks, and somebody who types them."""

import re
import shlex
import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"(?<=\n\n)(?: {4}.*\n(?:\n(?= {4}))?)+")


def sections(page):
    """The text of each section by its heading; of what comes before the first one by None."""
    text = (PROJECT / page).read_text("utf-8")
    first, *others = re.split(r"^## ", text, flags=re.MULTILINE)
    return {None: first} | {heading: f"\n{rest}" for heading, rest in (section.split("\n", 1) for section in others)}


def blocks(page, heading=None):
    """The blocks of a section, each a list of (command, what it prints): those of lines with `$ `, or else (line, None)."""
    return [_examples(block.replace("\n    ", "\n").strip()) for block in BLOCK.findall(sections(page)[heading])]


def _examples(block):
    lines = re.sub(r" *\\\n *", " ", block).splitlines()
    if not lines[0].startswith("$ "):
        return [(line, None) for line in lines if line]
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif not _is_whole(found[-1][0]):
            found[-1] = (f"{found[-1][0]}\n{line}", "")
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def _is_whole(command):
    try:
        return bool(shlex.split(command, comments=True))
    except ValueError:  # a quote that is still open
        return False


def moving_over():
    """The commands of that page that do not need a GPU."""
    text = (PROJECT / "docs/moving-over.md").read_text("utf-8").replace("\\\n", "")
    return re.findall(r"^    (oci-gpu-hooks (?!plan ).*)$", text, re.MULTILINE)


def pattern_of(text):
    """As a regular expression: lines are folded, `[…]` is anything, and an id is another one each time."""
    words = re.escape(" ".join(text.split())).replace(re.escape("[…]"), ".*")
    return re.sub(r"container\\ [0-9a-f]{12}", r"container\\ [0-9a-f]{12}", words)


class Newcomer:
    """Types lines on a host, in `directory`. What a line sets for the shell (`PATH=…`) is there for the next ones."""

    def __init__(self, host, directory, words=(), **environment):
        self._host, self._directory, self._words = host, directory, dict(words)
        self._set = [f"export {name}={value}" for name, value in environment.items()]

    def type(self, line):
        """Gives the CompletedProcess. What stands for something of the reader's own (IMAGE) is that of `words`."""
        for word, meant in self._words.items():
            line = re.sub(rf"\b{word}\b", str(meant), line)
        print(f"\n$ {line}", flush=True)
        if re.fullmatch(r"\w+=\S*", line):
            self._set.append(line)
        done = self._host.run(["bash", "-c", "\n".join([f"cd {self._directory}", *self._set, line])], check=False,
                              stdin=subprocess.DEVNULL)
        print(done.stdout + done.stderr, flush=True)
        return done

    def follows(self, page, *headings, status=None):
        """Types all blocks of these sections of a page. Each line ends with 0, or as `status` says of its end, and prints what
        the page shows."""
        for line, expected in (example for heading in headings for block in blocks(page, heading) for example in block):
            done = self.type(line)
            if expected is None:
                due = [code for end, code in (status or {}).items() if line.endswith(end)] or [0]
                assert [done.returncode] == due, line
            else:
                said = " ".join((done.stdout + done.stderr).split())
                assert re.fullmatch(pattern_of(expected), said), (line, said)
