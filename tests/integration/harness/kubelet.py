# SPDX-License-Identifier: Apache-2.0
"""kubelet on a node, by itself: the test plays the API server and a device plugin, as far as kubelet looks at them."""

import json
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
from google.protobuf import json_format

from .docker import WITH_THE_TESTS
from .host import LIMIT_S
from .protobuf import messages

PLUGINS = "/var/lib/kubelet/device-plugins"
RESOURCE = "nvidia.com/gpu"
# Of k8s.io/kubelet's pkg/apis/deviceplugin/v1beta1/api.proto.
MESSAGES = messages({
    "Empty": "",
    "RegisterRequest": "version=1 endpoint=2 resource_name=3",
    "Device": "ID=1 health=2",
    "ListAndWatchResponse": "devices=1:Device*",
    "ContainerAllocateRequest": "devices_ids=1*",
    "AllocateRequest": "container_requests=1:ContainerAllocateRequest*",
    "Mount": "container_path=1 host_path=2",
    "DeviceSpec": "container_path=1 host_path=2 permissions=3",
    "ContainerAllocateResponse": "envs=1:map mounts=2:Mount* devices=3:DeviceSpec* annotations=4:map",
    "AllocateResponse": "container_responses=1:ContainerAllocateResponse*",
})
# What kubelet sets of the kernel: it is the whole machine's, and set back.
SYSCTLS = ("kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", "vm/panic_on_oom")


class DevicePlugin:
    """It counts these GPUs; `answer` makes what a container gets of the UUIDs that kubelet has chosen."""

    def __init__(self, machine, uuids, answer):
        self._uuids, self._answer, self._ended = uuids, answer, threading.Event()
        self._server = grpc.server(ThreadPoolExecutor(4))
        empty, listed, asked, answered = (MESSAGES[name] for name in (
            "Empty", "ListAndWatchResponse", "AllocateRequest", "AllocateResponse"))
        handlers = {
            "GetDevicePluginOptions": grpc.unary_unary_rpc_method_handler(
                lambda _request, _context: empty(), empty.FromString, empty.SerializeToString),
            "ListAndWatch": grpc.unary_stream_rpc_method_handler(
                self._list, empty.FromString, listed.SerializeToString),
            "Allocate": grpc.unary_unary_rpc_method_handler(
                self._allocate, asked.FromString, answered.SerializeToString)}
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1beta1.DevicePlugin", handlers),))
        directory = machine.path(PLUGINS)
        self._server.add_insecure_port(f"unix://{directory}/tests.sock")
        self._server.start()
        with grpc.insecure_channel(f"unix://{directory}/kubelet.sock") as channel:
            register = MESSAGES["RegisterRequest"]
            channel.unary_unary("/v1beta1.Registration/Register", request_serializer=register.SerializeToString,
                                response_deserializer=empty.FromString)(
                register(version="v1beta1", endpoint="tests.sock", resource_name=RESOURCE), timeout=LIMIT_S)

    def _list(self, _request, _context):
        devices = [{"ID": uuid, "health": "Healthy"} for uuid in self._uuids]
        yield json_format.ParseDict({"devices": devices}, MESSAGES["ListAndWatchResponse"]())
        self._ended.wait()

    def _allocate(self, request, _context):
        answers = [self._answer(list(each.devices_ids)) for each in request.container_requests]
        return json_format.ParseDict({"container_responses": answers}, MESSAGES["AllocateResponse"]())

    def close(self):
        self._ended.set()
        self._server.stop(None)


class Api(BaseHTTPRequestHandler):
    """As much of an API server as kubelet waits for: it knows one runtime class, and remembers the node, and events."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    def _say(self, status, document):
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _list(self, path):
        kind, version, items = "List", "v1", []
        if path.endswith("/runtimeclasses"):
            kind, version, items = "RuntimeClassList", "node.k8s.io/v1", [{"metadata": {"name": "gpu"}, "handler": "gpu"}]
        elif path.endswith("/nodes"):
            kind, items = "NodeList", [self.server.node] if self.server.node else []
        return {"kind": kind, "apiVersion": version, "metadata": {"resourceVersion": "1"}, "items": items}

    def do_GET(self):  # pylint: disable=invalid-name
        path, _, query = self.path.partition("?")
        if "sendInitialEvents" in query:
            self._say(400, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "BadRequest", "code": 400})
        elif "watch=true" in query or "watch=1" in query:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.server.ended.wait()
            self.close_connection = True
        elif path.rpartition("/")[0].endswith("/nodes") and self.server.node:
            self._say(200, self.server.node)
        elif path.count("/") < 5 or path.endswith("s"):
            self._say(200, self._list(path))
        else:
            self._say(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})

    def _take(self, status):
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if document.get("kind") == "Node" and self.command == "POST":
            document["metadata"] |= {"resourceVersion": "1", "uid": "1"}
            self.server.node = document
        if document.get("kind") == "Event":
            self.server.events.append(document)
        self._say(status, document if "spec" in document or self.command == "POST" else self.server.node or {})

    def do_POST(self):  # pylint: disable=invalid-name
        self._take(201)

    def do_PUT(self):  # pylint: disable=invalid-name
        self._take(200)

    def do_PATCH(self):  # pylint: disable=invalid-name
        self._take(200)

    def do_DELETE(self):  # pylint: disable=invalid-name
        self._say(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})


class Kubelet:
    """kubelet for a node of harness.cri_node whose containerd runs, with pods by files (static pods). `answer` is the
    device plugin's, see there."""

    def __init__(self, node, answer):
        self.node, self.directory = node, node.path / "kubelet"
        (self.directory / "pods").mkdir(parents=True)
        self._api = ThreadingHTTPServer(("127.0.0.1", 0), Api)
        self._api.daemon_threads = True
        self._api.node, self._api.events, self._api.ended = None, [], threading.Event()
        threading.Thread(target=self._api.serve_forever, daemon=True).start()
        self._sysctls = {name: self._sysctl(name) for name in SYSCTLS}
        (self.directory / "config.json").write_text(json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": f"unix://{node.directory}/socket", "failCgroupV1": False,
            "cgroupDriver": "systemd" if node.has_systemd else "cgroupfs", "cgroupRoot": "/",
            "failSwapOn": False, "enableServer": False, "contentType": "application/json",
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"}, "staticPodPath": str(self.directory / "pods"),
            "fileCheckFrequency": "1s",
            "podLogsDir": str(self.directory / "logs"), "evictionHard": {"memory.available": "1Mi"},
            "volumePluginDir": str(self.directory / "volumes"), "enforceNodeAllocatable": ["pods"]}), encoding="utf-8")
        (self.directory / "kubeconfig").write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [
                {"name": "x", "context": {"cluster": "x", "user": "x"}}], "users": [{"name": "x", "user": {}}],
            "clusters": [{"name": "x", "cluster": {"server": f"http://127.0.0.1:{self._api.server_port}"}}]}),
            encoding="utf-8")
        with open(self.directory / "log", "wb") as log:
            self._process = subprocess.Popen([*WITH_THE_TESTS, *node.machine.command([
                "kubelet", "--config", self.directory / "config.json", "--kubeconfig", self.directory / "kubeconfig",
                "--root-dir", "/var/lib/kubelet", "--hostname-override", "node", "-v", "3"])],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._until(lambda: node.machine.run(["test", "-S", f"{PLUGINS}/kubelet.sock"], check=False).returncode == 0)
        self._until(lambda: 'Caches populated" type="*v1.RuntimeClass"' in self.log())
        self._plugin = DevicePlugin(node.machine, [gpu.uuid for gpu in node.gpus.gpus], answer)

    def _sysctl(self, name, value=None):
        with open(f"/proc/sys/{name}", "r+" if value else "r", encoding="ascii") as file:
            return file.write(value) if value else file.read()

    def log(self):
        return (self.directory / "log").read_text("utf-8")

    def _until(self, done):
        deadline = time.monotonic() + LIMIT_S
        while (found := done()) in (None, False):
            assert self._process.poll() is None and time.monotonic() < deadline, self.log()[-8000:]
            time.sleep(0.2)
        return found

    def pod(self, name, script, gpus=1, namespace="ml", **spec):
        """What the container of a new pod prints until a line `==`, with which its script is to go on for a while; or the
        message of the event of a failure."""
        limits = {RESOURCE: str(gpus)} if gpus else {}
        own = spec.pop("container", {})
        container = {"name": "train", "image": "example.org/box:1", "imagePullPolicy": "Never",
                     "command": ["sh", "-c", f"{script}; echo ==; exec sleep 1000"], "resources": {"limits": limits}, **own}
        document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
                    "spec": {"hostNetwork": True, "automountServiceAccountToken": False, "enableServiceLinks": False,
                             "terminationGracePeriodSeconds": 1, "runtimeClassName": "gpu", "containers": [container],
                             **spec}}
        (self.directory / "pods" / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
        return self._until(lambda: self._failure(name) if (out := self._printed(name)) is None else out)

    def lines_of(self, name):
        """What that pod's container has printed, with the times."""
        for file in (self.directory / "logs").glob(f"*_{name}-node_*/train/*.log"):
            for line in file.read_text("utf-8").splitlines():
                time_of, _stream, _tag, text = line.split(" ", 3)
                yield time_of, text

    def _printed(self, name):
        lines = [text for _, text in self.lines_of(name)]
        return "".join(f"{line}\n" for line in lines[:lines.index("==")]) if "==" in lines else None

    def _failure(self, name):
        for event in self._api.events:
            about = event.get("involvedObject", event.get("regarding", {}))
            if about.get("name") == f"{name}-node" and event.get("type") == "Warning":
                return event.get("message", event.get("note"))
        return None

    def cgroups_of(self, name):
        """Where that pod's container is, as the node sees it: a path for each hierarchy, without those of no use."""
        pid = (self._bundle_of(name) / "init.pid").read_text("ascii")
        lines = self.node.machine.run(["cat", f"/proc/{pid}/cgroup"]).stdout.splitlines()
        return {line.rpartition(":")[2] for line in lines} - {"/"}

    def config_of(self, name):
        """config.json of that pod's container, as containerd has it."""
        return json.loads((self._bundle_of(name) / "config.json").read_text("utf-8"))

    def _bundle_of(self, name):
        for file in (self.node.directory / "state").glob("*/k8s.io/*/config.json"):
            config = json.loads(file.read_text("utf-8"))
            notes = config["annotations"]
            if (notes.get("io.kubernetes.cri.container-name"), notes["io.kubernetes.cri.sandbox-name"]) == (
                    "train", f"{name}-node"):
                return file.parent
        raise AssertionError("no such pod")

    def end_pods(self):
        for file in (self.directory / "pods").iterdir():
            file.unlink()
        self._until(lambda: not list((self.node.directory / "state").glob("*/k8s.io/*/config.json")))

    def close(self):
        self.end_pods()
        self._process.terminate()
        self._process.wait(LIMIT_S)
        self._plugin.close()
        self._api.ended.set()
        self._api.shutdown()
        for name, value in self._sysctls.items():
            self._sysctl(name, value)
        self.node.machine.run(["find", "/sys/fs/cgroup", "-type", "d", "-path", "*/kubepods*", "-delete"], check=False)
