# SPDX-License-Identifier: Apache-2.0
"""What engines have written as config.json for a container, without the hooks: the files of tests/integration/recorded.
tests/by-hand/kubelet makes those of kubelet's pods."""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "recorded"


def load(name):
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def make(box, name):
    """Turn `box` into the container of that record. Not taken: the other container's namespaces, its cgroup, and what was
    mounted of the other host's disk, in the place of which are empty files and folders."""
    config, own = load(name), box.config
    config["root"] = own["root"]
    config["mounts"] += [mount for mount in own["mounts"] if mount["destination"].startswith("/proc/driver")]
    config["linux"]["cgroupsPath"] = f"/{box.bundle.folder.parent.name}-{box.bundle.folder.name}"
    for namespace in config["linux"]["namespaces"]:
        namespace.pop("path", None)
    for number, mount in enumerate(config["mounts"]):
        if mount["type"] == "bind" and mount["source"] != "/dev/null":
            source = box.bundle.folder / f"mounted-{number}"
            if mount["destination"] == "/dev/shm":
                source.mkdir()
            else:
                source.write_text("", encoding="ascii")
            mount["source"] = str(source)
    box.bundle.config, box.loader = config, "concourse"  # no `when` is asked
    return box
