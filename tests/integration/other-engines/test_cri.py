# SPDX-License-Identifier: Apache-2.0
"""Pods on a node whose containerd was set up by oci-gpu-hooks. The test starts them as kubelet does, with what it makes of a
device plugin's answer."""

import itertools
import json
import os
import re
import shutil

import grpc
import pytest

from harness import cri
from harness.admin import OWN, SHIPPED
from harness.containerd import programs
from harness.node import CONFIG, DROP_INS, FROM_MOUNTS, PLUGIN, PLUGIN_2, SPEC, Node, is_version_1
from harness.nvidia_container import PROBE, probed
from harness.nvidia_container import node as node_of
from harness.pages import PROJECT, page
from harness.stopped import wait_until
from hosts.nvidia import CTL, MAJOR, TWO, UNUSED, UVM

pytest_plugins = ["harness.admin_fixtures"]

EXAMPLES = PROJECT / "examples/kubernetes"
FOLDER = "/var/run/nvidia-container-devices/"
NAMESPACE = "io.kubernetes.cri.sandbox-namespace"
LOOK = f"{PROBE} probe $(ls -d /dev/nvidia* 2>/dev/null)"
CDI = "nvidia.cdi.k8s.io/nvidia-device-plugin_5f0c"
INSTALL = ("install", "--engine", "containerd", "--runtime", "gpu", "nvidia-devices")
UUID, OTHER = TWO[0].uuid, TWO[1].uuid


def given(*gpus):
    nodes = {gpu.node: node_of(UNUSED[MAJOR], gpu.minor) for gpu in gpus}
    nodes["/dev/nvidiactl"] = node_of(UNUSED[MAJOR], CTL)
    return nodes | {f"/dev/nvidia-{name}": node_of(UNUSED[UVM], minor) for minor, name in enumerate(("uvm", "uvm-tools"))}


def mounted(name):
    return {"mounts": [{"container_path": FOLDER + name, "host_path": "/dev/null"}]}


def environment(*values):
    return {"envs": [{"key": "NVIDIA_VISIBLE_DEVICES", "value": value} for value in values]}


@pytest.fixture(name="kubepods")
def kubepods_fixture(machine, scratch):
    """The cgroup that kubelet makes for pods, here one for each test; it stays when they have ended."""
    name = f"kubepods-{scratch.name}"
    yield f"/{name}"
    found = ["find", "/sys/fs/cgroup", "-ignore_readdir_race", "-type", "d", "-path", f"*/{name}*"]
    machine.run([*found, "-delete"], check=False)
    left = machine.run(found, check=False).stdout
    assert not left, left


def configured(folder):
    """containerd's configuration as an administrator has it, with a second runtime, which has the driver systemd."""
    own = PLUGIN if is_version_1() else PLUGIN_2
    image = (f'[plugins."{PLUGIN}"]\nsandbox_image = "{cri.IMAGE}"\nrestrict_oom_score_adj = true\n' if is_version_1() else
             f'[plugins."io.containerd.cri.v1.images".pinned_images]\nsandbox = "{cri.IMAGE}"\n'
             f'[plugins."{PLUGIN_2}"]\nrestrict_oom_score_adj = true\n')
    runtimes = "".join(f'[plugins."{own}".containerd.runtimes.{name}]\nruntime_type = "io.containerd.runc.v2"\n'
                       f'[plugins."{own}".containerd.runtimes.{name}.options]\nSystemdCgroup = {driver}\n'
                       for name, driver in (("runc", "false"), ("systemd", "true")))
    return (f'version = {2 if is_version_1() else 3}\nimports = {DROP_INS}\n'
            f'root = "{folder}/root"\nstate = "{folder}/state"\n[grpc]\naddress = "{folder}/socket"\n[ttrpc]\naddress = "{folder}/ttrpc"\n{image}{runtimes}')


class CriNode(Node):
    """With a daemon."""

    daemon = None

    def begin(self, *words):
        """`words` are those of `install`; the hook looks at this machine as if it had two GPUs."""
        self.configure()
        done = self.run(*words)
        assert done.returncode == 0, done
        spec = json.loads(self.read(SPEC))
        for hook in spec["hooks"]["createRuntime"]:
            self._look_elsewhere(hook)
        self.write(json.dumps(spec), SPEC)
        return self.start()

    def configure(self, more=""):
        self.folder.mkdir()
        self.write(configured(self.folder) + more)

    def start(self):
        self.daemon = cri.Containerd(self.machine, self.folder, CONFIG)
        return self.daemon

    def _look_elsewhere(self, hook):
        if hook["args"][0] == "nvidia-devices":
            hook["args"] += ["--sysroot", str(self.gpus.path)]

    def change_file(self, path, *options):
        """A file of hooks.d, so that its hook looks there, and has further options."""
        document = json.loads(self.read(path))
        document["hook"]["args"] += options
        self._look_elsewhere(document["hook"])
        self.write(json.dumps(document), path)

    @property
    def folder(self):
        return self.path / "containerd"


@pytest.fixture(name="node")
def node_fixture(machine, files, oci_gpu_hooks, kubepods, scratch, monkeypatch):  # pylint: disable=unused-argument
    monkeypatch.setenv("PATH", f"{programs()}:{os.environ['PATH']}")
    node = CriNode(machine, files, oci_gpu_hooks, scratch)
    yield node
    if node.daemon:
        node.daemon.close()


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


def shown(text, namespace):
    """The words of the one command there that names observers."""
    [found] = re.findall(r"^ +oci-gpu-hooks (install --engine containerd .*\\\n.*--observer.*)$", text, re.MULTILINE)
    return found.replace("\\\n", " ").replace("NAMESPACE", namespace).split()


def test_the_plugin_itself_observes(node, kubepods):
    """As the page and the examples have it, on a node whose policy gives a pod one GPU for itself; a pod that writes the
    namespace for itself does not."""
    words = shown((EXAMPLES / "README.md").read_text("utf-8"), "")
    name = words[-1].partition("=")[2]
    assert words == shown(page("nvidia-devices.8"), name) == [*FROM_MOUNTS, "--observer", f"{NAMESPACE}={name}"]
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


@pytest.mark.skipif(not shutil.which("hook-injector"), reason="it is in no package: tests/by-hand/containerd")
def test_the_hook_injector_of_nri(node, kubepods):
    """Files of hooks.d for the containers of each runtime. Those that come with the hooks are for annotations; what a plugin
    has said takes a file that is always called."""
    socket, log, pods = node.folder / "nri.sock", node.folder / "injector.log", itertools.count(1)
    gpu = (EXAMPLES / "containerd/hook-injector.toml").read_text("utf-8").replace("SystemdCgroup = true",
                                                                                 "SystemdCgroup = false")
    node.configure(f'{gpu}\n[plugins."io.containerd.nri.v1.nri"]\nsocket_path = "{socket}"\nplugin_path = "/nowhere"\n')
    daemon = node.start()

    def look(handler="gpu", annotations=None, **config):
        """What a container of a new pod sees, by an injector that has read the files as they are now."""
        [pid] = node.machine.run(["sh", "-ec", 'hook-injector -idx 10 -socket-path "$0" -disableWatch >"$1" 2>&1 </dev/null & '
                                  "echo $!", socket, log]).stdout.split()
        wait_until(lambda: "Started plugin" in log.read_text("utf-8"), "the plugin")
        seen = probed(daemon.pod(str(next(pods)), kubepods, handler, annotations=annotations).run(LOOK, **config))
        node.machine.run(["kill", pid])
        return seen

    node.change_file(f"/{SHIPPED}/20-nvidia-devices.json", "--max-devices", "1")
    assert look(annotations={"io.oci-gpu-hooks.nvidia-devices": "1"}) == given(TWO[1])
    assert look(**mounted(UUID)) == {}
    always = json.loads(node.read(f"/{SHIPPED}/20-nvidia-devices.json")) | {"when": {"always": True}}
    always["hook"]["args"] += ["--from", "mounts"]
    node.write(json.dumps(always), f"/{OWN}/20-nvidia-devices.json")
    assert look(**mounted(UUID)) == look(handler="", **mounted(UUID)) == given(TWO[0])
