# SPDX-License-Identifier: Apache-2.0
"""What engines have written as config.json for a container, without the hooks: the files of tests/integration/recorded.
tests/by-hand/kubelet makes those of kubelet's pods. Those of Concourse's steps are what its package worker/runtime/spec
makes of the garden.ContainerSpec of a step (August 2026, behind 8.2.5), which containerd writes down as it is, with the
three mounts that worker/runtime/cni_network.go adds; names and environment are made up."""

import json
import os
from pathlib import Path

DIRECTORY = Path(__file__).resolve().parents[1] / "recorded"


def load(name):
    return json.loads((DIRECTORY / f"{name}.json").read_text("utf-8"))


def write(directory, name, config):
    """A line for each member."""
    members = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in config.items() if key != "hooks"]
    (directory / f"{name}.json").write_text("{\n" + ",\n".join(members) + "\n}\n", encoding="utf-8")


def make(box, name):
    """Turn `box` into the container of that record. Not taken: the other container's namespaces, its cgroup with all limits
    but those of devices, and what was mounted of the other host's disk, in whose place are empty files and directories."""
    config, own = load(name), box.config
    config["root"] = own["root"]
    config["mounts"] += [mount for mount in own["mounts"] if mount["destination"].startswith("/proc/driver")]
    config["linux"]["cgroupsPath"] = f"/{box.bundle.directory.parent.name}-{box.bundle.directory.name}"
    resources = config["linux"].get("resources", {})
    config["linux"]["resources"] = {"devices": resources["devices"]} if "devices" in resources else {}
    for namespace in config["linux"]["namespaces"]:
        namespace.pop("path", None)
    for number, mount in enumerate(config["mounts"]):
        if mount["type"] == "bind" and mount["source"] != "/dev/null":
            source = box.bundle.directory / f"mounted-{number}"
            if mount["destination"] == "/dev/shm" or mount["source"].endswith("/volume"):
                source.mkdir()
            else:
                source.write_text("", encoding="ascii")
            mount["source"] = str(source)
            if [mount["destination"]] == config["process"]["args"]:
                box.bundle.init = source
    for mapping in config["linux"].get("uidMappings", [])[:1]:
        for path in [box.rootfs, *box.rootfs.rglob("*"), *box.bundle.directory.glob("mounted-*")]:
            os.lchown(path, mapping["hostID"], mapping["hostID"])
    box.bundle.config, box.loader = config, "concourse"  # no `when` is asked
    return box
