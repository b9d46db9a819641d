# SPDX-License-Identifier: Apache-2.0
"""Rounds of a benchmark: each in a fresh container, programs taking turns."""

import dataclasses
import pathlib
import random
import shutil
import statistics
import subprocess
import time
import typing

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


class BenchmarkError(Exception):
    """A program did not do its work, so its time means nothing."""


@dataclasses.dataclass
class Series:
    """Whole-process times of one program in microseconds, and its peak memory in KiB."""

    times: list = dataclasses.field(default_factory=list)
    memory: int = 0

    def add(self, microseconds, memory):
        self.times.append(microseconds)
        self.memory = max(self.memory, memory)

    @property
    def median(self):
        return statistics.median(self.times)

    @property
    def least(self):
        return min(self.times)

    def __str__(self):
        return f"{self.median:,.0f} ({self.least:,.0f})"

    def ratio(self, other):
        """Of the medians and, in parentheses, of the least ones."""
        return f"{self.median / other.median:.2f}x ({self.least / other.least:.2f}x)"


@dataclasses.dataclass
class Launcher:
    """Runs commands by the C launcher, which makes a container's init for each."""

    executable: str
    bundle: pathlib.Path
    rootfs: typing.Optional[pathlib.Path] = None  # where the init's root is made; one that a runtime has is its own
    layers: str = ""  # of the image, as overlayfs takes them
    disk: typing.Optional[pathlib.Path] = None  # where what is written to the image goes; without it, to memory
    file: str = ""  # of the container, see taken()
    cgroup: str = ""  # a device cgroup that is made for the container, see launch.c

    def once(self, command, mounts=0, environment=None):
        """Returns (microseconds, KiB). `mounts` is how many the command must add to the container."""
        options = ["-l", self.layers] if self.layers else []
        options += ["-t", self.file] if self.file else []
        options += ["-g", self.cgroup] if self.cgroup else []
        if self.disk:
            shutil.rmtree(self.disk, ignore_errors=True)
            self.disk.mkdir()
            options += ["-u", self.disk]
        done = subprocess.run(
            [self.executable, *options, self.bundle, self.rootfs or f"{self.bundle}/rootfs", *command],
            env={**ENVIRONMENT, **(environment or {})},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
        )
        if done.returncode != 0:
            raise BenchmarkError(f"no round for {command[0]}: {done.stderr.strip()}")
        nanoseconds, memory, status, added = map(int, done.stdout.split())
        if status != 0:
            raise BenchmarkError(f"{command[0]} ended with status {status}: {done.stderr.strip()}")
        if added != mounts:
            raise BenchmarkError(f"{command[0]} made {added} mounts and not {mounts}: {done.stderr.strip()}")
        return nanoseconds / 1000, memory

    def taken(self):
        """What `file` was in the container after the last command."""
        return (self.bundle / "taken").read_bytes()


@dataclasses.dataclass
class Program:
    """A command in a contest, and how to know that it has done its work."""

    launcher: Launcher
    command: list
    mounts: int = 0
    result: typing.Optional[bytes] = None  # what the launcher must have taken

    def run(self):
        figures = self.launcher.once(self.command, self.mounts)
        if self.result is not None and self.launcher.taken() != self.result:
            raise BenchmarkError(f"{self.command[0]} did not leave behind what it should")
        return figures


def interleave(programs, rounds, settle):
    """Times `programs`, a dict of name -> Program, in turns.

    A machine that is slow for a while is so for all of them. The order is another one in each round, and `settle`
    seconds pass between two runs, since the kernel goes on taking down the last container's mounts after its end.
    """
    series = {name: Series() for name in programs}
    names = list(programs)
    order = random.Random(0)
    for number in range(rounds + 1):
        order.shuffle(names)
        for name in names:
            time.sleep(settle)
            figures = programs[name].run()
            if number > 0:  # the first round fills caches
                series[name].add(*figures)
    return series
