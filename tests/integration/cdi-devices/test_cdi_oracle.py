# SPDX-License-Identifier: Apache-2.0
"""What podman makes of the same specifications: which files it takes, and what comes of their devices. Its runtime here
is a script that keeps config.json and starts nothing."""

import json
import os
import re
import stat
import subprocess

import pytest

from harness.cdi_corpus import CRASH, LATER, OLD, corpus
from harness.cdi_fixtures import MAJOR
from harness.host import Host
from harness.podman import Podman, is_version_4

pytest_plugins = ["harness.cdi_fixtures"]

LIBRARY = OLD if is_version_4() else LATER
RUNTIME = """#!/bin/sh
while [ $# -gt 0 ]; do
    [ "$1" != --bundle ] || cp "$2/config.json" "$0.json"
    shift
done
exit 1
"""


class Machine:
    """A host with specifications in its directory, for both."""

    def __init__(self, scratch, hook):
        self._hook, self.things, etc = hook, scratch / "things", scratch / "etc"
        for directory in (self.things, etc / "cdi", scratch / "work", scratch / "rootfs", self.things / "directory"):
            directory.mkdir(parents=True)
        for minor, (name, kind) in enumerate((("char", stat.S_IFCHR), ("block", stat.S_IFBLK), ("fifo", stat.S_IFIFO))):
            os.mknod(self.things / name, kind | 0o640, 0 if kind == stat.S_IFIFO else os.makedev(MAJOR, minor))
        (self.things / "link").symlink_to("directory")
        self.specs, self._rootfs = etc / "cdi", scratch / "rootfs"
        self._runtime = scratch / "keeper"
        self._runtime.write_text(RUNTIME, encoding="ascii")
        self._runtime.chmod(0o755)
        self.host = Host("not-hybrid", set_up=[
            f"mount -t overlay -o lowerdir=/etc,upperdir={etc},workdir={scratch}/work overlay /etc"])
        self._podman = Podman(scratch / "podman", str(self._runtime))

    def podman(self, *names):
        """(what it says, config.json or nothing)"""
        config = self._runtime.with_suffix(".json")
        config.unlink(missing_ok=True)
        devices = [word for name in names for word in ("--device", name)]
        done = self.host.run(self._podman.command(
            "--log-level", "debug", "run", "--rm", "--network", "none", "--log-driver", "none", *devices,
            "--rootfs", self._rootfs, "true"), check=False)
        self.host.expect_table_as_it_is()  # it starts no container, and takes its mounts away later
        return done.stderr, json.loads(config.read_text(encoding="utf-8")) if config.exists() else None

    def hook(self, *args):
        """(what it says, what it prints)"""
        done = self.host.run([self._hook.executable, *args], check=False, stdin=subprocess.DEVNULL)
        return done.stderr, json.loads(done.stdout) if done.returncode == 0 else None

    def put(self, entries):
        for entry in entries:
            (self.specs / entry.file).write_bytes(entry.text.encode())


@pytest.fixture(name="machine")
def machine_fixture(scratch, cdi_hook):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    machine = Machine(scratch, cdi_hook)
    yield machine
    machine.host.close()


def device_of(entry):
    """Its qualified name."""
    kind = re.search(r"""(?i)\bkind["']?:\s*(?:>-\s*)?["']?([^,"'\s]+)""", entry.text)
    return f"{kind.group(1)}={entry.name}"


def by_podman(config):
    """Nodes, rules and mounts, as pairs and tuples."""
    devices = [{"major": 0, "minor": 0, "uid": 0, "gid": 0, "fileMode": None, **each}
               for each in config["linux"]["devices"]]
    rules = {(rule["type"], rule["major"], rule["minor"], "".join(sorted(rule["access"])))
             for rule in config["linux"]["resources"]["devices"] if rule["allow"] and "major" in rule}
    mounts = [(mount["destination"], os.path.realpath(mount["source"]), "ro" in mount.get("options", []))
              for mount in config["mounts"] if re.match(r"/s\d+", mount["destination"])]
    return {each["path"]: each for each in devices}, rules, sorted(mounts)


def by_hook(plan):
    device, = plan["devices"]
    edits = device["containerEdits"]
    rules = set()
    for rule in json.loads(device["annotations"]["io.oci-gpu-hooks/cgroup"]):
        kind, number, access = rule.split()
        rules.add((kind, *map(int, number.split(":")), "".join(sorted(access))))
    mounts = [(mount["containerPath"], mount["hostPath"], "ro" in mount["options"]) for mount in edits["mounts"]]
    nodes = {each["path"]: {"major": 0, "minor": 0, "uid": 0, "gid": 0, **each} for each in edits["deviceNodes"]}
    return nodes, rules, mounts


def same_node(ours, theirs):
    """Type u is another word for c. Of libraries the newer one takes the mode of the host's node, as the hook does."""
    mode = theirs["fileMode"]
    return (ours["type"] == theirs["type"].replace("u", "c") and (mode is None or ours["fileMode"] == mode & 0o777)
            and all(ours[name] == theirs[name] for name in ("major", "minor", "uid", "gid")))


def test_both_take_the_same_files(machine):
    """podman counts those that it refuses; what it takes has to give a device."""
    entries = corpus(machine.things)
    assert len(entries) > 300
    taken = {entry.number for entry in entries if entry.accepted != bool(entry.differs.get(LIBRARY))}
    harmless = [entry for entry in entries if entry.differs.get(LIBRARY) != CRASH]
    without_device = {entry.number for entry in harmless if entry.number in taken and not entry.accepted
                      and not re.search("name.*: ", entry.text)}
    machine.put(harmless)
    names = [device_of(entry) for entry in harmless if entry.number in taken - without_device]
    said, config = machine.podman(*names)
    assert config, said[-4000:]
    errors = re.search("error was triggered when refreshing the CDI registry: (.*)", said).group(1)
    assert errors.count("failed to load CDI Spec") == len([entry for entry in harmless if entry.number not in taken])
    machine.put(entries)
    said, listed = machine.hook("--list=json")
    refused = set(map(int, re.findall(r"'/etc/cdi/(\d+)\.\w+' is passed over", said)))
    expected = {entry.number for entry in entries if not entry.accepted}
    assert refused == expected, [entry for entry in entries if entry.number in refused ^ expected]
    assert {row["device"] for row in listed["devices"]} == {device_of(entry) for entry in entries if entry.accepted}


def test_both_make_the_same_of_a_device(machine):
    entries = [entry for entry in corpus(machine.things)
               if entry.accepted and not entry.plan and not entry.differs.get(LIBRARY)]
    assert len(entries) > 90
    machine.put(entries)
    names = [device_of(entry) for entry in entries]
    said, config = machine.podman(*names)
    assert config, said[-4000:]
    said, plan = machine.hook("--plan", "--writable", "spec", "--request", ",".join(names))
    assert plan, said[-4000:]
    (nodes, rules, mounts), (their_nodes, their_rules, their_mounts) = by_hook(plan), by_podman(config)
    assert nodes.keys() == their_nodes.keys() and sorted(mounts) == their_mounts
    depths = [place.count("/") for place, *_ in mounts]  # of one depth podman 4.3 has another order
    assert depths == sorted(depths)
    assert not [(node, their_nodes[path]) for path, node in nodes.items() if not same_node(node, their_nodes[path])]
    # podman lets nobody open what it made of type u.
    assert their_rules <= rules
    assert {rule[1:3] for rule in rules - their_rules} <= {
        (node["major"], node["minor"]) for node in their_nodes.values() if node["type"] == "u"}


def test_what_the_host_lacks_neither_gives(machine):
    """Nor what is of another type there."""
    entries = [entry for entry in corpus(machine.things) if entry.number == 1000]
    for fields in ("hostPath: HOST/none", "hostPath: HOST/none, type: c", "hostPath: HOST/char, type: b",
                   "hostPath: HOST/directory", "hostPath: HOST/link"):
        entries[0].text = (f"{{cdiVersion: 0.5.0, kind: vv/cc, devices: [{{name: d, containerEdits: {{deviceNodes: "
                           f"[{{path: /dev/x, {fields.replace('HOST', str(machine.things))}}}]}}}}]}}")
        machine.put(entries)
        assert machine.podman("vv/cc=d")[1] is None, fields
        assert machine.hook("--plan", "--request", "vv/cc=d")[1] is None, fields


def test_directories(machine):
    """The later one wins, even if a name is in two files of it, or of the first; then nobody has such a device."""
    later = machine.specs.parents[1] / "run"
    (later / "cdi").mkdir(parents=True)
    machine.host.mount("--bind", later, "/run")
    specs = {"etc/a": "a b c", "etc/b": "b", "run/a": "a b d", "run/b": "d e", "etc/c": "e"}
    for place, names in specs.items():
        directory, file = place.split("/")
        text = ", ".join(f"{{name: {name}, containerEdits: {{env: ['{name}={place}']}}}}" for name in names.split())
        (machine.specs.parents[1] / directory / f"cdi/{file}.yaml").write_text(
            f"{{cdiVersion: 0.5.0, kind: vv/cc, devices: [{text}]}}", encoding="ascii")
    for name, place in (("a", "run/a"), ("b", ""), ("c", "etc/a"), ("d", ""), ("e", "run/b")):
        _, config = machine.podman(f"vv/cc={name}")
        said, plan = machine.hook("--plan", "--request", f"vv/cc={name}")
        assert (config is not None) == (plan is not None) == bool(place), name
        assert not place or f"{name}={place}" in config["process"]["env"] and f"'{name}={place}'" in said
