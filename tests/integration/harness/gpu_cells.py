# SPDX-License-Identifier: Apache-2.0
"""The engines and hosts on which GPUs are tried, of either vendor."""

from dataclasses import dataclass

from . import engines

RUNC, CRUN = engines.RUNTIMES


@dataclass(frozen=True)
class Cell:
    """An engine on a host; `rules`: whether it denies devices. What podman runs by crun has no cgroup of its
    own in these tests."""

    engine: engines.Engine
    cgroup: str
    rules: bool = True
    readonly: bool = False

    def __str__(self):
        return "-".join([str(self.engine), self.cgroup, *(["readonly"] if self.readonly else [])])

    def box(self, nv_box, request, *args):
        """A container that also has a node of another GPU, which some volume brought."""
        box = nv_box(request, *args, engine=self.engine, cgroup=self.cgroup)
        for name in ("CAP_SETUID", "CAP_SETGID"):
            box.add_capability(name)
        box.config["root"]["readonly"] = self.readonly
        if self.engine.podman and self.readonly:
            box.options.append("--read-only")
        return box


CELLS = [
    Cell(RUNC, "as-found"), Cell(RUNC, "v2"), Cell(CRUN, "not-hybrid"),
    Cell(engines.MAPPED[0], "as-found"), Cell(engines.MAPPED[0], "v2"), Cell(engines.MAPPED[1], "not-hybrid"),
    Cell(engines.PODMANS[0], "not-hybrid"), Cell(engines.PODMANS[1], "not-hybrid", rules=False),
    Cell(engines.MAPPED_PODMANS[0], "not-hybrid"),
    Cell(engines.MAPPED_PODMANS[1], "not-hybrid", rules=False),
    Cell(RUNC, "v2", readonly=True), Cell(CRUN, "not-hybrid", readonly=True),
    Cell(engines.MAPPED[0], "as-found", readonly=True), Cell(engines.PODMANS[0], "not-hybrid", readonly=True)]
FEW = [CELLS[1], CELLS[2], CELLS[5], CELLS[6]]
