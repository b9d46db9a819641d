# SPDX-License-Identifier: Apache-2.0
"""Where a benchmark may make a device cgroup."""

import pathlib

V1, V2 = "cgroup v1", "cgroup v2"


def _own(controller):
    """This process's cgroup in a hierarchy, or None."""
    for line in pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path
    return None


def _mounted(kind, controller):
    """(root, mount point) of the hierarchy, or None."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        fields = line.split()
        tail = fields[fields.index("-") + 1:]
        if tail[0] == kind and (not controller or controller in tail[2].split(",")):
            return fields[3], fields[4]
    return None


def places(name):
    """Version -> the directory of a cgroup of that name, to be made below this process's own, where there is one."""
    found = {}
    for version, kind, controller in ((V1, "cgroup", "devices"), (V2, "cgroup2", "")):
        own, mounted = _own(controller), _mounted(kind, controller)
        if own is None or mounted is None:
            continue
        root, point = (pathlib.PurePath(path) for path in mounted)
        if pathlib.PurePath(own).is_relative_to(root):
            found[version] = str(point / pathlib.PurePath(own).relative_to(root) / name)
    return found
