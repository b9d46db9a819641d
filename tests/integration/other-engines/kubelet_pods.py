# SPDX-License-Identifier: Apache-2.0
"""kubelet itself, with containerd set up by oci-gpu-hooks, for tests/by-hand/kubelet. With RECORD, a directory, what containerd
wrote as config.json is kept there for tests that have no kubelet."""

import json
import os
import re
from pathlib import Path

import pytest

from harness import recorded
from harness.cri_node import DIRECTORY, LOOK, given
from harness.host import Host
from harness.kubelet import Kubelet
from harness.node import FROM_MOUNTS
from harness.nvidia_container import probed
from harness.pod_times import PodTimes
from hosts import driver
from hosts.nvidia import TWO

pytest_plugins = ["harness.admin_fixtures", "harness.cri_fixtures"]

HAS_SYSTEMD = os.environ.get("CGROUP_DRIVER") == "systemd"
CGROUP = ("/kubepods[.]slice/kubepods-besteffort[.]slice/kubepods-besteffort-pod[0-9a-f]+[.]slice/"
          "cri-containerd-[0-9a-f]{64}[.]scope" if HAS_SYSTEMD else "/kubepods/besteffort/pod[0-9a-f]+/[0-9a-f]{64}")
INSTALL = FROM_MOUNTS[:-1]
OBSERVER = ("--observer", "io.kubernetes.cri.sandbox-namespace=gpu-device-plugin")
CDI = "nvidia.cdi.k8s.io/nvidia-device-plugin_5f0c"


def by_mounts(uuids):
    return {"mounts": [{"container_path": DIRECTORY + uuid, "host_path": "/dev/null"} for uuid in uuids],
            "envs": {"NVIDIA_VISIBLE_DEVICES": DIRECTORY.rstrip("/")}}


def by_annotations(uuids):
    return {"annotations": {CDI: ",".join(f"k8s.device-plugin.nvidia.com/gpu={uuid}" for uuid in uuids)}}


def by_environment(uuids):
    return {"envs": {"NVIDIA_VISIBLE_DEVICES": ",".join(uuids)}}


@pytest.fixture(name="machine")
def machine_fixture():
    """systemd has to know the processes by the numbers that runc says."""
    host = Host("as-found" if HAS_SYSTEMD else "not-hybrid", own_processes=not HAS_SYSTEMD)
    yield host
    host.close()


@pytest.fixture(name="begin")
def begin_fixture(node):
    """A function that sets containerd up with these words of `install`, and starts kubelet with a plugin that answers so."""
    begun = []

    def begin(words, answer):
        node.has_systemd = HAS_SYSTEMD
        node.begin(*words)
        begun.append(Kubelet(node, answer))
        return begun[0]

    yield begin
    for kubelet in begun:
        kubelet.close()


def keep(kubelet, pod, name):
    if "RECORD" in os.environ:
        text = json.dumps(kubelet.config_of(pod)).replace(str(kubelet.node.path), "/node")
        driver = "-systemd" if HAS_SYSTEMD else ""
        recorded.write(Path(os.environ["RECORD"]), f"kubelet-{name}{driver}", json.loads(text))


def own(value):
    return {"container": {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value}]}}


def test_mounts(begin):
    """Two pods have a GPU each, below the pod's cgroup; the plugin's namespace sees both, and a pod without a limit none."""
    kubelet = begin((*FROM_MOUNTS, *OBSERVER, "--max-devices", "1"), by_mounts)
    seen = [probed(kubelet.pod("one", LOOK)), probed(kubelet.pod("two", LOOK))]
    places = kubelet.cgroups_of("one")
    assert places and all(re.fullmatch(CGROUP, place) for place in places), places
    assert given(TWO[0]) in seen and given(TWO[1]) in seen
    assert probed(kubelet.pod("three", LOOK, gpus=0)) == {}
    assert probed(kubelet.pod("monitor", LOOK, gpus=0, namespace="gpu-device-plugin")) == given(*TWO)
    keep(kubelet, "one", "mounts")
    keep(kubelet, "monitor", "observer")


def test_annotations(begin):
    kubelet = begin((*INSTALL, "cdi-annotations"), by_annotations)
    assert probed(kubelet.pod("one", LOOK)) in (given(TWO[0]), given(TWO[1]))
    keep(kubelet, "one", "cdi-annotations")


def test_environment(begin):
    """The pod's own variable wins."""
    kubelet = begin((*INSTALL, "environment"), by_environment)
    assert probed(kubelet.pod("one", LOOK)) in (given(TWO[0]), given(TWO[1]))
    assert probed(kubelet.pod("two", LOOK, **own("none"))) == {}
    keep(kubelet, "one", "environment")
    keep(kubelet, "two", "environment-and-own")


def test_what_does_not_fit(begin):
    """A pod that counts a GPU, whose plugin says it in another way: kubelet shows why to whoever looks at it. One that names
    no runtime class starts without."""
    kubelet = begin(FROM_MOUNTS, by_environment)
    assert "--from environment" in kubelet.pod("one", LOOK)
    assert probed(kubelet.pod("two", LOOK, runtimeClassName=None)) == {}


@pytest.mark.skipif("ROUNDS" not in os.environ, reason="takes minutes, and a machine that does nothing else")
def test_times(begin, node, capsys):
    driver.install(node.gpus)
    times = PodTimes(begin((*FROM_MOUNTS, "--min-lease", "exclusive"), by_mounts))
    times.measure(int(os.environ["ROUNDS"]))
    with capsys.disabled():
        print("\n" + times.table())
