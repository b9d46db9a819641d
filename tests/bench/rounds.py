# SPDX-License-Identifier: Apache-2.0
"""Rounds of the mount-srv benchmark: each in a fresh container, programs taking turns."""

import dataclasses
import statistics
import subprocess
import time

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


class BenchmarkError(Exception):
    """A program did not do its work, so its time means nothing."""


@dataclasses.dataclass
class Series:
    """Whole-process times of one program in microseconds, and its peak memory in KiB."""

    times: list = dataclasses.field(default_factory=list)
    memory: int = 0

    @property
    def median(self):
        return statistics.median(self.times)

    @property
    def least(self):
        return min(self.times)


class Launcher:
    """Runs commands by the C launcher, which makes a container's init for each."""

    def __init__(self, executable, bundle, rootfs=None):
        """`rootfs` is where the init's root is made, empty; a runtime that is timed brings its own."""
        self.executable = executable
        self.bundle = bundle
        self.rootfs = rootfs or f"{bundle}/rootfs"

    def once(self, command, mounts=0, environment=None):
        """Returns (microseconds, KiB). `mounts` is how many the command must add to the container."""
        done = subprocess.run(
            [self.executable, self.bundle, self.rootfs, *command],
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


def interleave(launcher, programs, rounds, settle):
    """Times `programs`, a dict of name -> (command, mounts expected), in turns.

    A machine that is slow for a while is so for all of them. The order turns too, and `settle` seconds pass
    between two runs, since the kernel goes on taking down the last container's mounts after its end.
    """
    series = {name: Series() for name in programs}
    names = list(programs)
    for number in range(rounds + 1):
        for name in names:
            time.sleep(settle)
            microseconds, memory = launcher.once(*programs[name])
            if number > 0:  # the first round fills caches
                series[name].times.append(microseconds)
                series[name].memory = max(series[name].memory, memory)
        names.append(names.pop(0))
    return series
