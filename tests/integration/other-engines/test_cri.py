# SPDX-License-Identifier: Apache-2.0
"""Pods on a node whose containerd was set up by oci-gpu-hooks. The test starts them as kubelet does, with what it makes of a
device plugin's answer."""

import re

import grpc
import pytest

from harness.cri_node import LOOK, given, mounted
from harness.node import FROM_MOUNTS
from harness.nvidia_container import probed
from harness.pages import PROJECT
from hosts.nvidia import TWO

pytest_plugins = ["harness.admin_fixtures", "harness.cri_fixtures"]

EXAMPLES = PROJECT / "examples/kubernetes"
NAMESPACE = "io.kubernetes.cri.sandbox-namespace"
CDI = "nvidia.cdi.k8s.io/nvidia-device-plugin_5f0c"
INSTALL = ("install", "--engine", "containerd", "--runtime", "gpu", "nvidia-devices")
UUID, OTHER = TWO[0].uuid, TWO[1].uuid


def environment(*values):
    return {"envs": [{"key": "NVIDIA_VISIBLE_DEVICES", "value": value} for value in values]}


def refused(pod, *words, **config):
    """The container is not started: kubelet shows the error to whoever looks at the pod."""
    with pytest.raises(grpc.RpcError) as error:
        pod.run("true", **config)
    assert all(word in error.value.details() for word in words), error.value.details()


def test_a_pod_gets_what_was_counted_for_it(node, kubepods):
    """And is below the cgroup that kubelet has named."""
    daemon = node.begin(*FROM_MOUNTS)
    parent = f"{kubepods}/besteffort/pod1"
    pod = daemon.pod("1", parent)
    cgroups, _, nodes = pod.run(f"cat /proc/self/cgroup; echo ==; {LOOK}", **mounted(UUID)).partition("==\n")
    assert probed(nodes) == given(TWO[0])
    places = {line.rpartition(":")[2] for line in cgroups.splitlines()} - {"/"}
    assert places and all(re.fullmatch(f"{parent}/[0-9a-f]{{64}}", place) for place in places), cgroups
    assert probed(pod.run(LOOK, name="log")) == {}
    refused(pod, "'--from environment'", **environment(UUID))
    # containerd keeps these from its runtimes, so that only the doctor can tell; or no runtime of ours is named.
    assert probed(pod.run(LOOK, annotations={CDI: f"nvidia.com/gpu={UUID}"})) == {}
    assert probed(daemon.pod("2", parent, handler="").run(LOOK, **mounted(UUID))) == {}


def test_the_plugins_annotations_come_through_and_no_pods(node, kubepods):
    """Those of its answer belong to the container; a pod can write its own."""
    daemon = node.begin(*INSTALL, "--from", "cdi-annotations")
    plugins = {"annotations": {CDI: f"k8s.device-plugin.nvidia.com/gpu={UUID}"}}
    assert probed(daemon.pod("1", kubepods).run(LOOK, **plugins)) == given(TWO[0])
    forged = daemon.pod("2", kubepods, annotations={CDI: f"nvidia.com/gpu={OTHER}"})
    assert probed(forged.run(LOOK)) == {}
    assert probed(forged.run(LOOK, **plugins)) == given(TWO[0])


def test_a_pods_own_variable_stands_behind_the_plugins(node, kubepods):
    """And wins: no protection is `--from environment`."""
    pod = node.begin(*INSTALL, "--from", "environment").pod("1", kubepods)
    for own, outcome in (((), given(TWO[0])), ((OTHER,), given(TWO[1])), (("none",), {})):
        assert probed(pod.run(LOOK, **environment(UUID, *own))) == outcome
    refused(pod, "'deviceIDStrategy: uuid'", **environment(UUID, "0"))


def shown(path):
    """The words of the one command there that names observers, and whose they are."""
    [found] = re.findall(r"^ +oci-gpu-hooks (install --engine containerd .*\\\n.*--observer.*)$",
                         (PROJECT / path).read_text("utf-8"), re.MULTILINE)
    words = found.replace("\\\n", " ").split()
    return words, words[-1].partition("=")[2]


def test_the_plugin_itself_observes(node, kubepods):
    """As the guide and the examples have it, on a node whose policy gives a pod one GPU for itself; a pod that writes the
    namespace for itself does not."""
    for path in ("docs/kubernetes.md", "examples/kubernetes/README.md"):
        words, name = shown(path)
        assert words == [*FROM_MOUNTS, "--observer", f"{NAMESPACE}={name}"]
    daemon = node.begin(*words, "--max-devices", "1", "--min-lease", "exclusive")
    plugin = daemon.pod("1", kubepods, namespace=name)
    plugin.start("sleep 1000")
    assert probed(plugin.run(LOOK)) == given(*TWO)
    pod = daemon.pod("2", kubepods, annotations={NAMESPACE: name})
    assert probed(pod.run(LOOK)) == {}
    assert probed(pod.run(LOOK, **mounted(OTHER))) == given(TWO[1])
    refused(pod, "--max-devices", mounts=[*mounted(UUID)["mounts"], *mounted(OTHER)["mounts"]])


def test_a_pod_asks_by_annotation(node, kubepods):
    """Where no plugin counts; of one namespace alone, which no pod can write for itself."""
    daemon = node.begin(*INSTALL, "--only", f"{NAMESPACE}=ml", "--max-devices", "1")
    asked = {"io.oci-gpu-hooks.nvidia-devices/train": "any:1"}
    pod = daemon.pod("1", kubepods, annotations=asked)
    assert probed(pod.run(LOOK)) == given(TWO[0]) and probed(pod.run(LOOK, name="log")) == {}
    forged = daemon.pod("2", kubepods, namespace="web", annotations={**asked, NAMESPACE: "ml"})
    refused(forged, "exit status 5", NAMESPACE)


def test_a_runtime_has_the_driver_of_its_node(node, kubepods):
    """With another one kubelet cannot start a pod, or it is outside of its cgroup. Here it is changed by hand."""
    daemon = node.begin(*FROM_MOUNTS)
    with pytest.raises(grpc.RpcError) as error:
        daemon.pod("1", f"{kubepods}/besteffort/pod1", handler="systemd")
    assert "slice:prefix:name" in error.value.details()
    name = f"{kubepods[1:]}-besteffort-pod1.slice"
    cgroups = daemon.pod("2", name).run("cat /proc/self/cgroup")
    assert re.search(f":/{name}:cri-containerd:[0-9a-f]{{64}}$", cgroups, re.MULTILINE), cgroups
