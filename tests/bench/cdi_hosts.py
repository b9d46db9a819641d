# SPDX-License-Identifier: Apache-2.0
"""Hosts for the benchmark of cdi-devices, with what their specifications describe of one device."""

import dataclasses
import itertools
import json
import os
import pathlib
import re
import stat

# One that no driver of this machine has: its nodes can be made, and not opened.
_TAKEN = {int(number) for number in re.findall(r"^ *(\d+) ", pathlib.Path("/proc/devices").read_text("ascii"), re.MULTILINE)}
MAJOR = min(set(range(384, 512)) - _TAKEN)
KIND = "vendor.com/gpu"
BY_PATH = "/dev/dri/by-path/pci-0000:03:00.0-"
CARDS = {f"{BY_PATH}card": "card1", f"{BY_PATH}render": "renderD128"}
BOARD = "/usr/lib/vendor/board"


@dataclasses.dataclass
class Given:
    """What a container gets by its request for the device `name`."""

    name: str
    nodes: dict  # path -> minor
    mounts: dict = dataclasses.field(default_factory=dict)  # path -> path on the host
    links: dict = dataclasses.field(default_factory=dict)  # path -> target

    def make(self, host):
        """What of it must be there on the host."""
        for path in self.mounts.values():
            _parent(host, path)
            (host / path[1:]).write_text(path)
        for path, minor in self.nodes.items():
            _parent(host, path)
            if path.startswith(BY_PATH):
                os.symlink(f"../{CARDS[path]}", f"{host}{path}")
            else:
                os.mknod(f"{host}{path}", stat.S_IFCHR | 0o666, os.makedev(MAJOR, minor))
                os.chmod(f"{host}{path}", 0o666)

    def words(self):
        """The floor's arguments."""
        for path, minor in self.nodes.items():
            yield from ("node", path[1:], str(minor))
        for path, source in self.mounts.items():
            yield from ("mount", path[1:], source[1:])
        for path, target in self.links.items():
            yield from ("link", path[1:], target)


def _parent(host, path):
    (host / path[1:]).parent.mkdir(parents=True, exist_ok=True)


def _parts():
    """Name -> the minors of its nodes by their paths: eight GPUs, each in all parts that it may have."""
    caps = "/dev/cdi/caps/vendor-cap"
    names = itertools.product(range(8), range(11), range(11))
    def nodes(gpu, of_part, of_share):
        return {f"/dev/cdi/gpu{gpu}": 2 + gpu, f"{caps}{of_part}": of_part, f"{caps}{of_share}": of_share}
    return {f"{gpu}:{part}:{share}": nodes(gpu, 100 + gpu * 11 + part, 200 + gpu * 121 + part * 11 + share)
            for gpu, part, share in names}


def document(kind, devices, common=()):
    """With the node's paths alone, as a file of 172 kB has it that a vendor's program wrote of such a server."""
    def edits(paths):
        return {"deviceNodes": [{"path": path} for path in paths]}
    return {"cdiVersion": "0.5.0", "kind": kind, "containerEdits": edits(common),
            "devices": [{"name": name, "containerEdits": edits(nodes)} for name, nodes in devices.items()]}


def as_yaml(value, indent=""):
    """As the vendors' programs write it: a line for each value."""
    lines = []
    pairs = value.items() if isinstance(value, dict) else [(None, item) for item in value]
    for key, item in pairs:
        mark = "- " if key is None else f"{key}:"
        if isinstance(item, (dict, list)) and item:
            inner = as_yaml(item, indent + "  ")
            lines += [indent + mark + inner[0].lstrip(), *inner[1:]] if key is None else [f"{indent}{mark}", *inner]
        else:
            text = json.dumps(item) if isinstance(item, str) and not item[0].isalpha() and item[0] != "/" else item
            lines.append(f"{indent}{mark}{'' if key is None else ' '}{text}")
    return lines


def _write(host, name, form, content):
    path = host / "etc/cdi" / f"{name}.{form}"
    _parent(host, f"/etc/cdi/{name}")
    path.write_text(json.dumps(content) if form == "json" else "\n".join(as_yaml(content)) + "\n")


def server(host, form, small_files):
    """A server with GPUs in 968 parts; and small files beside the one that describes them."""
    common, devices = {"/dev/cdi/control": 0, "/dev/cdi/memory": 1}, _parts()
    _write(host, "gpus", form, document(KIND, devices, common))
    for number in range(small_files):
        _write(host, f"small-{number}", form, document(f"vendor-{number}.com/net", {"port0": [f"/dev/port{number}"]}))
    name = list(devices)[len(devices) // 2]
    return Given(name, common | devices[name])


def one_card(host):
    """A desktop: two nodes, and their names by path, which are mounts of symlinks to them."""
    given = Given("card1", {"/dev/dri/card1": 1, "/dev/dri/renderD128": 128})
    edits = {**_edits(given), "mounts": [
        {"hostPath": path, "containerPath": path, "type": "none", "options": ["bind", "rw"]} for path in CARDS]}
    _write(host, "intel", "yaml", {
        "cdiVersion": "0.6.0", "kind": KIND, "devices": [{"name": given.name, "containerEdits": edits}]})
    given.nodes |= {path: given.nodes[f"/dev/dri/{card}"] for path, card in CARDS.items()}
    return given


def board(host):
    """Whose libraries are the host's, one by one, some with a second name; as a Jetson has it."""
    names = [f"libvendor_{number}.so" for number in range(219)]
    given = Given("all", {f"/dev/nvhost-{number}": number for number in range(24)},
                  {f"{BOARD}/{name}.1": f"/opt/vendor/board/{name}.1" for name in names},
                  {f"{BOARD}/{name}": f"{name}.1" for name in names[:65]})
    links = [f"{target}::{path}" for path, target in given.links.items()]
    hook = {"hookName": "createContainer", "path": "/usr/bin/nvidia-ctk",
            "args": ["nvidia-ctk", "hook", "create-symlinks", *(word for link in links for word in ("--link", link))]}
    _write(host, "board", "yaml", {
        "cdiVersion": "0.5.0", "kind": KIND,
        "devices": [{"name": given.name, "containerEdits": {**_edits(given), "hooks": [hook]}}]})
    return given


def _edits(given):
    return {"deviceNodes": [{"path": path} for path in given.nodes],
            "mounts": [{"containerPath": path, "hostPath": source, "options": ["ro", "nosuid", "nodev", "bind"]}
                       for path, source in given.mounts.items()]}
