# SPDX-License-Identifier: Apache-2.0
"""What --plan prints, which CDI's own parser is to accept: it refuses a member that it does not know."""

import json
import re

# Members of a specification of version 0.6.0 (specs-go/config.go of the Container Device Interface), as far as plans
# have them, and the types of their values.
NODE = {"path": str, "hostPath": str, "type": str, "major": int, "minor": int, "fileMode": int, "permissions": str}
MOUNT = {"hostPath": str, "containerPath": str, "options": list, "type": str}
EDITS = {"env": list, "deviceNodes": list, "hooks": list, "mounts": list}
DEVICE = {"name": str, "annotations": dict, "containerEdits": dict}
SPEC = {"cdiVersion": str, "kind": str, "annotations": dict, "devices": list, "containerEdits": dict}
NAME = r"[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?"
PREFIX = "io.oci-gpu-hooks/"


def check_members(document, known, needed):
    assert set(needed) <= set(document) <= set(known), document
    for name, value in document.items():
        assert isinstance(value, known[name]), (name, value)


def check_spec(spec):
    """What the parser and its validation ask for."""
    check_members(spec, SPEC, ["cdiVersion", "kind", "devices"])
    assert spec["cdiVersion"] == "0.6.0" and re.fullmatch(f"{NAME}/{NAME}", spec["kind"])
    for device in spec["devices"]:
        check_members(device, DEVICE, ["name", "containerEdits"])
        assert re.fullmatch(NAME, device["name"])
        assert all(re.fullmatch(r"[a-z0-9.-]+/[A-Za-z0-9_.-]+", key) and isinstance(value, str)
                   for key, value in device.get("annotations", {}).items())
        check_members(device["containerEdits"], EDITS, [])
        for node in device["containerEdits"].get("deviceNodes", []):
            check_members(node, NODE, ["path"])
            assert node["path"] and node["type"] in "bcup" and not node["permissions"].strip("rwm")
        for mount in device["containerEdits"].get("mounts", []):
            check_members(mount, MOUNT, ["hostPath", "containerPath"])
            assert mount["hostPath"] and mount["containerPath"]


def read_plan(text):
    """The plan as one dictionary: containerEdits, and what CDI has no word for beside it."""
    spec = json.loads(text)
    check_spec(spec)
    device, = spec["devices"]
    assert set(device) - {"annotations"} == {"name", "containerEdits"}
    rest = {key.removeprefix(PREFIX): json.loads(value) for key, value in device.get("annotations", {}).items()}
    assert set(rest) <= {"links", "files", "cgroup"}
    return {"containerEdits": device["containerEdits"], **rest}
