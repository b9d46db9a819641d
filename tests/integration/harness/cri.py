# SPDX-License-Identifier: Apache-2.0
"""Pods in containerd, by its interface for runtimes (CRI), as kubelet asks for them. What kubelet does besides is the
test's: a name for the pod's cgroup, and what a device plugin has said. Pods have the host's network, which takes no
plugin."""

import hashlib
import io
import itertools
import json
import subprocess
import tarfile
import time

import grpc
from google.protobuf import json_format

from . import rootfs
from .docker import WITH_THE_TESTS
from .host import LIMIT_S
from .protobuf import messages

IMAGE = "example.org/box:1"
EXITED = 2
NAMESPACES = {"namespace_options": {"network": 2, "pid": 1}}  # the host's network
# Those fields of k8s.io/cri-api's pkg/apis/runtime/v1/api.proto that are used here, see messages().
TYPES = {
    "VersionRequest": "",
    "VersionResponse": "runtime_version=3",
    "NamespaceOption": "network=1:int pid=2:int",
    "SecurityContext": "namespace_options=1:NamespaceOption",
    "ContainerSecurityContext": "namespace_options=3:NamespaceOption",
    "PodSandboxMetadata": "name=1 uid=2 namespace=3",
    "LinuxPodSandboxConfig": "cgroup_parent=1 security_context=2:SecurityContext",
    "PodSandboxConfig": "metadata=1:PodSandboxMetadata log_directory=3 labels=6:map annotations=7:map"
                        " linux=8:LinuxPodSandboxConfig",
    "RunPodSandboxRequest": "config=1:PodSandboxConfig runtime_handler=2",
    "PodSandboxId": "pod_sandbox_id=1",
    "ContainerMetadata": "name=1 attempt=2:int",
    "ImageSpec": "image=1",
    "KeyValue": "key=1 value=2",
    "Mount": "container_path=1 host_path=2 readonly=3:int",
    "Device": "container_path=1 host_path=2 permissions=3",
    "LinuxContainerConfig": "security_context=2:ContainerSecurityContext",
    "ContainerConfig": "metadata=1:ContainerMetadata image=2:ImageSpec command=3* envs=6:KeyValue* mounts=7:Mount*"
                       " devices=8:Device* labels=9:map annotations=10:map log_path=11 linux=15:LinuxContainerConfig",
    "CreateContainerRequest": "pod_sandbox_id=1 config=2:ContainerConfig sandbox_config=3:PodSandboxConfig",
    "ContainerId": "container_id=1",
    "ContainerStatus": "state=3:int exit_code=7:int",
    "ContainerStatusResponse": "status=1:ContainerStatus",
    "ImageStatusRequest": "image=1:ImageSpec",
    "Image": "id=1",
    "ImageStatusResponse": "image=1:Image",
    "Nothing": "",
}
CALLS = {
    "Version": ("VersionRequest", "VersionResponse"),
    "RunPodSandbox": ("RunPodSandboxRequest", "PodSandboxId"),
    "StopPodSandbox": ("PodSandboxId", "Nothing"),
    "RemovePodSandbox": ("PodSandboxId", "Nothing"),
    "CreateContainer": ("CreateContainerRequest", "ContainerId"),
    "StartContainer": ("ContainerId", "Nothing"),
    "ContainerStatus": ("ContainerId", "ContainerStatusResponse"),
    "ImageStatus": ("ImageStatusRequest", "ImageStatusResponse"),
}


MESSAGES = messages(TYPES)


def write_image(archive, root):
    """An image of one layer, in docker's format: its program sleeps."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        tar.add(root, arcname=".")
    digest = hashlib.sha256(layer.getvalue()).hexdigest()
    config = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
              "config": {"Env": ["PATH=/bin"], "Cmd": ["sleep", "infinity"]}}
    files = {"config.json": json.dumps(config).encode(), "layer.tar": layer.getvalue(), "manifest.json": json.dumps(
        [{"Config": "config.json", "RepoTags": [IMAGE], "Layers": ["layer.tar"]}]).encode()}
    with tarfile.open(archive, "w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


class Containerd:
    """The daemon on `host`, with the configuration `config`, which names `directory` as what is its own. Its executables have
    to be found by PATH."""

    def __init__(self, host, directory, config):
        self.host, self.directory = host, directory
        self._socket, self._log = directory / "socket", directory / "log"
        with open(self._log, "wb") as log:
            self._daemon = subprocess.Popen([*WITH_THE_TESTS, *host.command(["containerd", "--config", config])],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._channel = grpc.insecure_channel(f"unix://{self._socket}")
        self._pods = []
        self._until(lambda: self.call("Version").runtime_version)
        write_image(directory / "image.tar", rootfs.make(directory / "rootfs"))
        self.host.run(["ctr", "--address", self._socket, "--namespace", "k8s.io", "images", "import", directory / "image.tar"])
        self._until(lambda: self.call("ImageStatus", image={"image": IMAGE}).image.id)

    def _until(self, done):
        deadline = time.monotonic() + LIMIT_S
        while True:
            try:
                if done():
                    return
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.UNAVAILABLE, error
            assert self._daemon.poll() is None and time.monotonic() < deadline, self._log.read_text("utf-8")
            time.sleep(0.05)

    def call(self, name, **fields):
        """Raises grpc.RpcError, with containerd's words."""
        asked, answered = (MESSAGES[each] for each in CALLS[name])
        service = "ImageService" if name == "ImageStatus" else "RuntimeService"
        call = self._channel.unary_unary(f"/runtime.v1.{service}/{name}", request_serializer=asked.SerializeToString,
                                         response_deserializer=answered.FromString)
        return call(json_format.ParseDict(fields, asked()), timeout=LIMIT_S)

    def pod(self, *args, **options):
        """A Pod, removed at the end."""
        pod = Pod(self, *args, **options)
        self._pods.append(pod)
        return pod

    def close(self):
        for pod in self._pods:
            pod.remove()
        self._channel.close()
        self._daemon.terminate()
        self._daemon.wait(LIMIT_S)


class Pod:
    """A pod whose cgroup is `parent`, by containerd's runtime of the name `handler`."""

    def __init__(self, daemon, uid, parent, handler="gpu", namespace="ml", annotations=None):
        self._daemon, self._attempts = daemon, itertools.count()
        self._logs = daemon.directory / f"logs-{uid}"
        self._logs.mkdir()
        self._config = {
            "metadata": {"name": f"pod-{uid}", "uid": uid, "namespace": namespace}, "log_directory": str(self._logs),
            "annotations": annotations or {},
            "linux": {"cgroup_parent": parent, "security_context": NAMESPACES}}
        self.id = daemon.call("RunPodSandbox", config=self._config, runtime_handler=handler).pod_sandbox_id

    def start(self, script, name="train", **config):
        """Starts a container, and gives its id. `config` is what a device plugin's answer and the pod's own lines come
        to."""
        config = {"metadata": {"name": name, "attempt": next(self._attempts)}, "image": {"image": IMAGE},
                  "command": ["sh", "-c", script], "log_path": "log", "linux": {"security_context": NAMESPACES}, **config}
        container = self._daemon.call("CreateContainer", pod_sandbox_id=self.id, config=config,
                                      sandbox_config=self._config).container_id
        self._daemon.call("StartContainer", container_id=container)
        return container

    def run(self, script, **config):
        """What a container prints that comes to its end."""
        (self._logs / "log").unlink(missing_ok=True)
        container = self.start(script, **config)
        deadline = time.monotonic() + LIMIT_S
        while (status := self._daemon.call("ContainerStatus", container_id=container).status).state != EXITED:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        # Of each line: TIME STREAM TAG TEXT
        lines = [line.split(" ", 3)[3] for line in (self._logs / "log").read_text("utf-8").splitlines()]
        assert status.exit_code == 0, lines
        return "".join(f"{line}\n" for line in lines)

    def remove(self):
        for call in ("StopPodSandbox", "RemovePodSandbox"):
            self._daemon.call(call, pod_sandbox_id=self.id)
