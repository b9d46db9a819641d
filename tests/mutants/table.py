# SPDX-License-Identifier: Apache-2.0
"""Reads table.txt, which says how it is written."""

from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("table.txt")
HOOKS = ("mount-srv", "nvidia-devices", "amd-kfd", "cdi-devices", "ldcache-update")


class Wrong(Exception):
    """The table is not as it should be, or does not fit the sources."""


@dataclass(frozen=True)
class Test:
    """What is run against a mutant: the executable or file, which of its cases, and what has to be built for it."""

    kind: str
    name: str
    cases: str
    build: tuple

    def __str__(self):
        return " ".join(dict.fromkeys((self.kind, self.name, self.cases)))


@dataclass(frozen=True)
class Mutant:
    """What the source has of a defence, and has instead; `why_not` if no test can notice."""

    defence: str
    file: str
    text: str
    instead: str = ""
    test: Test | None = None
    why_not: str = ""


def parse_test(line):
    kind, _, rest = line.partition(" ")
    if kind == "unit":
        return Test(kind, kind, rest, ("unit",))
    if kind == "root":
        return Test(kind, kind, rest, ("root_tests",))
    if kind == "vm":
        return Test(kind, "guest", rest, (*HOOKS, "oci-gpu-hooks"))
    if kind == "integration":
        words, _, hooks = rest.partition(": ")
        name, _, cases = words.partition(" ")
        return Test(kind, name, cases, tuple(hooks.split(", ")))
    raise Wrong(f"'{line}' names no test")


def parse(block):
    lines = block.split("\n")
    signed = {sign: "\n".join(line[1:] for line in lines[2:] if line.startswith(sign)) for sign in "-+="}
    if signed["="]:
        return Mutant(lines[0], lines[1], signed["-"], why_not=signed["="])
    return Mutant(lines[0], lines[1], signed["-"], signed["+"], parse_test(lines[-1]))


def read():
    """The mutants, and those that no test can notice."""
    blocks = FILE.read_text(encoding="utf-8").strip().split("\n\n")
    mutants = [parse(block) for block in blocks if not block.startswith("#")]
    return [each for each in mutants if each.test], [each for each in mutants if not each.test]
