# SPDX-License-Identifier: Apache-2.0
"""The files in examples/kubernetes: containerd takes its part, and a container that starts from the spec that they make
gets what the pod's annotations say, as containerd's CRI hands them on. Kubernetes' own types take what is for the
cluster."""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from kubernetes.client import ApiClient

from harness.expect import started
from harness.nvidia_container import KEY, PROBE, given, probed

pytest_plugins = ["harness.nvidia_fixtures"]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples/kubernetes"
NAMESPACE, CONTAINER = "io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.container-name"
ONLY = ("--only", f"{NAMESPACE}=ml")
NODES = f"{PROBE} probe /dev/nvidia*"


@pytest.fixture(name="pod_box")
def pod_box_fixture(nv_box, nv_host, scratch):
    """A container of a pod that asks for a GPU for the container called train."""
    def make(name, namespace):
        box = nv_box(None, *ONLY, cgroup="v2")
        file = scratch / "20-nvidia-devices.json"
        file.write_text(json.dumps({"version": "1.0.0", "hook": box.hook.entry(box.args)}), encoding="utf-8")
        made = nv_host("v2").run(["sh", EXAMPLES / "containerd/make-base-spec", file]).stdout
        # What containerd puts into it for each container.
        spec, own = json.loads(made), box.bundle.config
        spec["root"] = own["root"]
        spec["process"].update(terminal=False, cwd="/", env=own["process"]["env"])
        spec["linux"].update(cgroupsPath=f"/kubernetes-{os.getpid()}")
        spec["annotations"] = {f"{KEY}/train": "1", CONTAINER: name, NAMESPACE: namespace}
        box.bundle.config = spec
        return box

    return make


def run(box, script):
    box.bundle.script(script)
    box.bundle.write()
    return box.runtime.start(box.host, box.bundle).finish()


def test_the_container_that_the_annotation_names(pod_box, machine):
    assert probed(started(run(pod_box("train", "ml"), NODES))) == given(machine.gpus[1])


def test_another_container_of_the_pod(pod_box):
    assert started(run(pod_box("log", "ml"), "echo /dev/nvidia*")) == "/dev/nvidia*\n"


def test_another_namespace(pod_box):
    result = run(pod_box("train", "web"), NODES)
    assert result.code != 0 and result.out == "" and "exit status 5" in result.err and NAMESPACE in result.err


def runtimes(*words):
    """The runtimes of containerd's configuration, each with its lines."""
    shown = subprocess.run(["containerd", *words], check=True, capture_output=True, encoding="utf-8").stdout
    tables = [table.partition("]\n") for table in shown.split(".containerd.runtimes.")[1:]]
    return {name: text.split("[plugins")[0] for name, _, text in tables}


def test_containerd_takes_the_configuration(tmp_path):
    """Behind its own: a file with one runtime alone takes the default one away."""
    file = tmp_path / "config.toml"
    default = subprocess.run(["containerd", "config", "default"], check=True, capture_output=True, encoding="utf-8")
    file.write_text(default.stdout + (EXAMPLES / "containerd/containerd-1.7.toml").read_text("utf-8"), encoding="utf-8")
    shown = runtimes("--config", file, "config", "dump")
    assert 'pod_annotations = ["io.oci-gpu-hooks.*", "io.oci-gpu-hooks.*/*"]' in shown["gpu"]
    assert 'base_runtime_spec = "/etc/containerd/oci-gpu-hooks.json"' in shown["gpu"]
    assert shown["runc"] == runtimes("config", "default")["runc"]


def test_containerd_takes_the_configuration_for_nri(tmp_path):
    """It is written for containerd 2, whose plugin has another name."""
    file = tmp_path / "config.toml"
    default = subprocess.run(["containerd", "config", "default"], check=True, capture_output=True, encoding="utf-8")
    own = (EXAMPLES / "containerd/hook-injector.toml").read_text("utf-8")
    assert own.count("'io.containerd.cri.v1.runtime'") == 2
    file.write_text(default.stdout + own.replace("'io.containerd.cri.v1.runtime'", '"io.containerd.grpc.v1.cri"'),
                    encoding="utf-8")
    shown = runtimes("--config", file, "config", "dump")
    assert 'pod_annotations = ["io.oci-gpu-hooks.*", "io.oci-gpu-hooks.*/*"]' in shown["gpu"]
    assert 'base_runtime_spec = ""' in shown["gpu"]
    assert shown["runc"] == runtimes("config", "default")["runc"]


def taken(document):
    """What Kubernetes' type for a document makes of it: without the fields that it does not know. Raises ValueError for
    one that lacks a field, or has a value that is not allowed."""
    api = ApiClient()
    kind = f"V1{document['kind']}"
    return api.sanitize_for_serialization(api.deserialize(SimpleNamespace(data=json.dumps(document)), kind))


DIRECTORIES = ("cluster", "device-plugin")
KUSTOMIZATION = "kustomization.yaml"
MANIFESTS = sorted(path for name in DIRECTORIES for path in (EXAMPLES / name).iterdir() if path.name != KUSTOMIZATION)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_kubernetes_knows_each_field(path):
    for document in yaml.safe_load_all(path.read_text("utf-8")):
        assert document["apiVersion"].rpartition("/")[2] == "v1"
        assert taken(document) == document
        document["metadata"]["unknown"] = "x"
        assert taken(document) != document


@pytest.mark.parametrize("name", DIRECTORIES)
def test_what_is_applied_at_once(name):
    """All but the pod that shows it; directories are named as kustomize does, which takes no file from elsewhere."""
    document = yaml.safe_load((EXAMPLES / name / KUSTOMIZATION).read_text("utf-8"))
    files = [each for each in document["resources"] if each != "../cluster"]
    assert sorted(files) == [path.name for path in MANIFESTS if path.parent.name == name and path.name != "pod.yaml"]
    assert (document["kind"], document["apiVersion"]) == ("Kustomization", "kustomize.config.k8s.io/v1beta1")


def test_the_plugin_is_set_as_the_hook_needs_it():
    """One runtime's name in all files; its own pod asks by nothing, and observes by its namespace."""
    documents = [document for path in MANIFESTS for document in yaml.safe_load_all(path.read_text("utf-8"))]
    kinds = {document["kind"]: document for document in documents}
    pod = kinds["DaemonSet"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    environment = {each["name"]: each["value"] for each in container["env"]}
    assert environment["DEVICE_LIST_STRATEGY"] == "volume-mounts" and environment["DEVICE_ID_STRATEGY"] == "uuid"
    assert environment["NVIDIA_VISIBLE_DEVICES"] == "void"
    sources = {each["name"]: each["hostPath"]["path"] for each in pod["volumes"]}
    assert {each["mountPath"]: sources[each["name"]] for each in container["volumeMounts"]} == {
        "/var/lib/kubelet/device-plugins": "/var/lib/kubelet/device-plugins"}
    namespace = kinds["DaemonSet"]["metadata"]["namespace"]
    for name in ("README.md", "device-plugin/kustomization.yaml"):
        assert f"{NAMESPACE}={namespace}\n" in (EXAMPLES / name).read_text("utf-8")
    handler = kinds["RuntimeClass"]["handler"]
    assert {pod["runtimeClassName"], kinds["RuntimeClass"]["metadata"]["name"], handler} == {"gpu"}
    policy = next(each for each in documents if each["metadata"]["name"] == "oci-gpu-hooks-runtime")
    assert f"runtimeClassName == '{handler}'" in policy["spec"]["validations"][0]["expression"]
