# SPDX-License-Identifier: Apache-2.0
"""Containers as engines have really written them down: harness.recorded."""

import re

import pytest

from harness import recorded
from harness.expect import started
from harness.nvidia_container import PROBE, given, probed, refused
from hosts.nvidia import TWO

pytest_plugins = ["harness.nvidia_fixtures"]

LOOK = f"{PROBE} probe $(ls -d /dev/nvidia* 2>/dev/null)"
STRICT = ("--max-devices", "1", "--min-lease", "exclusive")
OBSERVER = ("--observer", "io.kubernetes.cri.sandbox-namespace=gpu-device-plugin")
ONE, NOTHING, ALL = "one", {}, given(*TWO)


@pytest.mark.parametrize("machine", [TWO], indirect=True, ids=["two"])
@pytest.mark.parametrize("name, options, outcome", [
    ("mounts", ("--from", "mounts", *STRICT, *OBSERVER), ONE),
    ("mounts-systemd", ("--from", "mounts", *STRICT, *OBSERVER), ONE),
    ("mounts", ("--from", "environment"), "'--from mounts'"),
    ("cdi-annotations", ("--from", "cdi-annotations", *STRICT), ONE),
    ("cdi-annotations", ("--from", "mounts,environment"), "'--from cdi-annotations'"),
    ("environment", ("--from", "environment", *STRICT), ONE),
    ("environment", ("--from", "mounts"), "'--from environment'"),
    ("environment-and-own", ("--from", "environment"), NOTHING),
    ("observer", ("--from", "mounts", *STRICT, *OBSERVER), ALL),
    ("observer", ("--from", "mounts", *STRICT), NOTHING),
])
def test_a_pod_of_kubelets(nv_box, machine, name, options, outcome):  # pylint: disable=unused-argument
    """Each has one of the two GPUs, which is the plugin's choice, but for the observer."""
    box = recorded.make(nv_box(None, *options), f"kubelet-{name}")
    result = box.run(LOOK)
    if outcome is ONE:
        [uuid] = set(re.findall("GPU-[-0-9a-f]{36}", str(recorded.load(f"kubelet-{name}"))))
        assert probed(started(result)) == given(*(gpu for gpu in TWO if gpu.uuid == uuid))
    elif isinstance(outcome, str):
        refused(result, 2, outcome)
    else:
        assert probed(started(result)) == outcome


ALWAYS = ("--opt-in", "always", "--request", "any:1", "--max-devices", "2")
ASKS = "OCI_GPU_HOOKS_NVIDIA_DEVICES=any:2"


@pytest.mark.parametrize("machine", [TWO], indirect=True, ids=["two"])
@pytest.mark.parametrize("step, options, params, outcome", [
    ("task", ALWAYS, (), given(TWO[0])), ("task", ALWAYS, (ASKS,), ALL),
    ("task", (*ALWAYS[:-1], "1"), (ASKS,), "--max-devices"),
    ("task", ("--opt-in", "environment"), (ASKS,), ALL), ("task", ("--opt-in", "environment"), (), NOTHING),
    ("get", ALWAYS, (), NOTHING), ("get", ALWAYS, (ASKS,), NOTHING), ("get", ("--opt-in", "environment"), (ASKS,), NOTHING),
])
def test_a_step_of_concourses(nv_box, machine, scratch, step, options, params, outcome):  # pylint: disable=unused-argument
    """A task gets what its params ask for, within the policy; another step asks in vain, and the log file says so."""
    box = recorded.make(nv_box(None, *options, "--log-file", scratch / "log"), f"concourse-{step}")
    box.bundle.environment(*params)
    result = box.run(LOOK)
    if isinstance(outcome, str):
        refused(result, 5, outcome)
        return
    assert probed(started(result)) == outcome
    warned = "starts without what it asks for" in (scratch / "log").read_text("utf-8")
    assert warned == (step == "get" and params != ())


def test_a_pods_cgroup_is_below_kubelets():
    for file in recorded.DIRECTORY.glob("kubelet-*.json"):
        path = recorded.load(file.stem)["linux"]["cgroupsPath"]
        form = "/kubepods/besteffort/pod{}/{}"
        if file.stem.endswith("-systemd"):
            form = "kubepods-besteffort-pod{}[.]slice:cri-containerd:{}"
        assert re.fullmatch(form.format("[0-9a-f]{32}", "[0-9a-f]{64}"), path), path
