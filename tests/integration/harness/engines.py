# SPDX-License-Identifier: Apache-2.0
"""Every way to run a container that the tests know: the runtimes alone, and below podman, each with
and without a user namespace."""

from dataclasses import dataclass

from .box import Box
from .podman import Podman, PodmanBox
from .runtime import Crun, Runc

MAP = (0, 100000, 65536)  # the container's root is uid 100000 of the host
ROOT = MAP[1]


@dataclass(frozen=True)
class Engine:
    """One way: `runtime` by itself or below podman; `mapped` with a user namespace."""

    runtime: str
    podman: bool = False
    mapped: bool = False

    def __str__(self):
        return "-".join([*(["podman"] if self.podman else []), self.runtime,
                         *(["userns"] if self.mapped else [])])

    def open(self, directory):
        """The runtime, with its state in `directory`."""
        if self.podman:
            return Podman(directory, self.runtime)
        return {"runc": Runc, "crun": Crun}[self.runtime](directory)

    def box(self, *args):
        box = (PodmanBox if self.podman else Box)(*args)
        if self.mapped:
            box.map_ids(MAP)
        return box


RUNTIMES = [Engine("runc"), Engine("crun")]
PODMANS = [Engine("runc", podman=True), Engine("crun", podman=True)]
MAPPED = [Engine("runc", mapped=True), Engine("crun", mapped=True)]
MAPPED_PODMANS = [Engine("runc", True, True), Engine("crun", True, True)]
ALL = RUNTIMES + PODMANS + MAPPED + MAPPED_PODMANS
