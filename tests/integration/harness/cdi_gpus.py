# SPDX-License-Identifier: Apache-2.0
"""GPUs by the name of a CDI device. What is tried is the same for each engine that reads specifications: what an
engine brings is `run(*devices)`, which gives the Result of a container that has these and prints its nodes."""

import json
import os
import re
from dataclasses import dataclass

from . import cdi
from .expect import started
from .nvidia_container import probed

ASKED = [  # names, and the GPUs that they bring: by place, or so many of any
    (["0"], [0]), (["gpu2"], [2]), (["1", "any:1"], 2), (["any:1", "any:2"], 3), (["any:1", "0", "0"], 2)]


@dataclass
class Vendor:
    """One vendor's hook and its devices, on a host that is made up for it."""

    kind: str
    hook: object  # HookFile
    machine: object
    gpus: list
    given: object  # a function: the nodes for some GPUs

    def write(self, directory, *options, name=None):
        """What --cdi prints, into a directory that engines read, under that name."""
        names = cdi.write(directory, self.hook.executable, *options, sysroot=self.machine.path)
        if name:
            (directory / f"{cdi.KIND}-{self.hook.executable.name}.json").rename(directory / name)
        return names

    def write_out(self, directory, document):
        """A specification of somebody's whose hooks are installed, with those that were built, and the host that is made
        up."""
        for device in document["devices"]:
            device["containerEdits"]["hooks"] = [
                {**entry, "path": os.fspath(self.hook.executable),
                 "args": [entry["args"][0], "--sysroot", os.fspath(self.machine.path), *entry["args"][1:]]}
                for entry in device["containerEdits"]["hooks"] if entry["args"][0] == self.hook.executable.name]
        (directory / "written-out.json").write_text(json.dumps(document), encoding="utf-8")

    def gpus_of(self, result):
        """The places of the GPUs that a container has, and can open, with all their nodes and no others."""
        seen = probed(started(result))
        seen.pop("/dev/nvidia-modeset", None)  # of no GPU: it comes with all capabilities
        own = [self.given(gpu).keys() - self.given(self.gpus[place - 1]).keys() for place, gpu in enumerate(self.gpus)]
        places = [place for place, nodes in enumerate(own) if seen.keys() & nodes]
        assert seen == self.given(*[self.gpus[place] for place in places]), seen
        return places


def devices_bring_gpus(vendor, kind, run):
    """Each GPU is there once, whatever names it; and `any` adds to the rest."""
    for names, expected in ASKED:
        places = vendor.gpus_of(run(*[f"{kind}={name}" for name in names]))
        assert expected in (places, len(places)), (names, places)


def all_of_them(vendor, kind, run):
    assert vendor.gpus_of(run(f"{kind}=all", f"{kind}=any:1")) == list(range(len(vendor.gpus)))


def the_policy_holds(vendor, kind, run):
    """With --max-devices 2; the hook says what is wrong."""
    assert len(vendor.gpus_of(run(f"{kind}=0", f"{kind}=any:1"))) == 2
    result = run(f"{kind}=0", f"{kind}=any:2")
    assert result.code != 0 and "3 GPUs, and --max-devices allows 2" in result.hook_message, result


def lines_with_devices(text):
    """The command lines of a page that name devices, each with what it names: (line, [device, …])."""
    lines = re.findall(r"^ +(?:[#$] )?((?:podman|docker) run (?:.*\\\n)*.*--device \S+=.*)$", text, re.MULTILINE)
    return [(line, re.findall(r"--device[ =](\S+=\S+)", line)) for line in lines]
