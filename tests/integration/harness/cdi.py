# SPDX-License-Identifier: Apache-2.0
"""CDI specifications whose devices call the hooks, as the hooks themselves print them."""

import json
import os
import subprocess

KIND = "io.oci-gpu-hooks"


def write(directory, executable, *options, sysroot=None):
    """Puts what the hook prints for these options into a directory that an engine reads. Gives the names of its devices.
    `sysroot` is the host of these tests, which a specification does not carry: an engine is on it."""
    place = ["--sysroot", sysroot] if sysroot else []
    kind = [] if any(str(option).startswith("--cdi") for option in options) else ["--cdi"]
    document = json.loads(subprocess.run([executable, *place, *options, *kind], check=True, capture_output=True,
                                         encoding="utf-8").stdout)
    for device in document["devices"]:
        for hook in device["containerEdits"]["hooks"]:
            if place and hook["args"][0] == executable.name:
                hook["args"][1:1] = map(os.fspath, place)
    (directory / f"{KIND}-{executable.name}.json").write_text(json.dumps(document), encoding="utf-8")
    return [device["name"] for device in document["devices"]]


def write_hook(directory, name, entry):
    """A device example.org/NAME=all that calls another hook."""
    hook = {"hookName": "createRuntime", **entry}
    (directory / f"{name}.json").write_text(json.dumps(
        {"cdiVersion": "0.5.0", "kind": f"example.org/{name}",
         "devices": [{"name": "all", "containerEdits": {"hooks": [hook]}}]}), encoding="utf-8")
    return f"example.org/{name}=all"
