# SPDX-License-Identifier: Apache-2.0
"""Monitors and device plugins (--observer): they see every GPU, beside those who have them, and have no lease."""

import json

import pytest

from harness import concourse, engines
from harness.expect import started
from harness.leases import Container, ask, read_state
from harness.nvidia_container import KEY, PROBE, given, probed, refused
from hosts.nvidia import EIGHT

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

RUNC, CRUN = engines.RUNTIMES
CONTAINERDS, CRIOS = "io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace"
NAME = "io.kubernetes.cri.container-name"
LOOK = f"{PROBE} probe /dev/nvidia*"
STRICT = ("--min-lease", "exclusive", "--max-devices", "1", "--quota", "node=1", "--max-sharers", "1")
KEYS = {RUNC: CONTAINERDS, CRUN: CRIOS}


def of_pod(box, namespace, name="monitor", key=CONTAINERDS):
    box.loader = "concourse"  # as with base_runtime_spec, and `always` in CRI-O's hooks.d
    box.annotations.update({key: namespace, NAME: name})
    return box


@pytest.fixture(name="observer")
def observer_fixture(nv_box):
    """A function that makes a container of a namespace whose containers observe, on a host with a strict policy."""
    return lambda *options, key=CONTAINERDS, engine=RUNC, namespace="gpu-operator": of_pod(
        nv_box(None, *STRICT, "--observer", f"{key}=gpu-*", *options, engine=engine), namespace, key=key)


def test_an_observer_sees_what_others_have(nv_box, observer, leases, machine):
    holder = Container(ask(nv_box("3"), KEY, "exclusive")).ready()
    assert leases.run("--drain", "5").returncode == 0
    watcher = Container(observer("--allow", "0-6"), LOOK).ready()
    assert probed(watcher.out) == given(*EIGHT[:7])
    assert sorted(leases.rows("lease", "gpus", "asker")) == [
        ("exclusive", "3", "annotation"), ("observer", "0,1,2,3,4,5,6", "observer")]
    assert [gpu["lease"] for gpu in leases.read()["gpus"]] == [
        "free", "free", "free", "exclusive", "free", "drained", "free", "free"]
    # Its cgroup is known: what runs there is nobody's use of a GPU.
    [(pid,)] = [row[1:] for row in leases.rows("lease", "pid") if row[0] == "observer"]
    [cgroup] = [each["holder"]["cgroup"]["path"] for each in read_state(machine.path)["observers"]]
    with open(f"/proc/{pid}/cgroup", encoding="ascii") as file:
        assert f":{cgroup}\n" in file.read()
    assert watcher.end().code == 0 and holder.end().code == 0
    assert leases.rows("lease") == []
    started(observer("--allow", "0-6").run(LOOK))  # who comes next notices
    events = [json.loads(line) for line in (machine.path / "var/lib/oci-gpu-hooks/history").read_text("ascii")
              .splitlines()]
    assert [event["event"] for event in events if event.get("lease") == "observer"] == [
        "granted", "ended", "granted"]


def test_nobody_waits_for_an_observer_or_ends_it(nv_box, observer):
    """One of which a takeover would say that it is idle."""
    soon = ("--idle-after", "0s", "--begin-within", "0s")
    watcher = Container(concourse.make(observer(*soon), "task")).ready()
    for options in (STRICT, ("--min-lease", "exclusive")):
        started(nv_box("3", *options, *soon).run("true"))
    assert watcher.end().code == 0


@pytest.mark.parametrize("engine", [RUNC, CRUN], ids=str)
def test_each_engine_has_its_key(observer, leases, engine):
    watcher = Container(observer(key=KEYS[engine], engine=engine), LOOK).ready()
    assert probed(watcher.out) == given(*EIGHT) and leases.rows("lease") == [("observer",)]
    watcher.end()


def test_others_of_the_cluster_are_not_let_in(observer, nv_box, leases):
    """Another namespace; a pod that forges the key of the engine which is not there; one whose name does not match."""
    forged = observer()
    forged.annotations[CRIOS] = "ml"
    named = of_pod(nv_box(None, "--observer", f"{CONTAINERDS}=gpu-*", "--observer", f"{NAME}=plugin*"), "gpu-operator")
    for box in (observer(namespace="ml"), forged, named):
        assert started(box.run("ls /dev | grep -c nvidia; true")) == "0\n"
    named.annotations[NAME] = "plugin-ctr"
    assert len(probed(started(named.run(LOOK)))) > len(EIGHT)
    assert leases.are_free()


def test_what_an_observer_says_itself(observer):
    for value, gpus in (("0", EIGHT[:1]), ("none", [])):
        box = observer()
        box.annotations[KEY] = value
        out = started(box.run("ls /dev | grep -c 'nvidia[0-9]'; true"))
        assert out == f"{len(gpus)}\n"
    box = observer()
    box.annotations[f"{KEY}.lease"] = "exclusive"
    refused(box.run("true"), 2, "--observer")


def test_the_policy_names_the_engines_namespace(leases):
    key = ["--observer", f"{CONTAINERDS}=a"]
    for options in (["--observer", f"{NAME}=plugin"], ["--observer", "plugin"], [*key, "--observer", f"{CRIOS}=a"],
                    [*key, "--request", "0"]):
        process = leases.run("--list", *options)
        assert process.returncode == 2 and "--observer" in process.stderr, (options, process.stderr)
    assert leases.run("--list", *key, "--request", "0", "--opt-in", "always").returncode == 0


def test_a_host_without_gpus_stops_no_observer(observer, machine):
    machine.unload()
    started(observer().run("true"))


def test_a_node_of_amds(amd_box):
    box = of_pod(amd_box(None, "--max-devices", "1", "--observer", f"{CONTAINERDS}=gpu-*"), "gpu-operator")
    watcher = Container(box, "ls /dev/dri | grep -c renderD").ready()
    assert watcher.out == "1\n"  # `all` leaves out what is a part of the CPU
    assert watcher.end().code == 0
