# SPDX-License-Identifier: Apache-2.0
"""Pods that get GPUs by NRI's hook-injector, a program of containerd/nri that is in no package: for tests/by-hand/containerd."""

import itertools
import json

from harness.admin import OWN, SHIPPED
from harness.cri_node import LOOK, given, mounted
from harness.nvidia_container import probed
from harness.pages import PROJECT
from harness.stopped import wait_until
from hosts.nvidia import TWO

pytest_plugins = ["harness.admin_fixtures", "harness.cri_fixtures"]

EXAMPLES = PROJECT / "examples/kubernetes"
UUID = TWO[0].uuid


def test_the_hook_injector_of_nri(node, kubepods):
    """Files of hooks.d for the containers of each runtime. Those that come with the hooks are for annotations; what a plugin
    has said takes a file that is always called."""
    socket, log, pods = node.directory / "nri.sock", node.directory / "injector.log", itertools.count(1)
    gpu = (EXAMPLES / "containerd/hook-injector.toml").read_text("utf-8").replace("SystemdCgroup = true",
                                                                                 "SystemdCgroup = false")
    node.configure(f'{gpu}\n[plugins."io.containerd.nri.v1.nri"]\nsocket_path = "{socket}"\nplugin_path = "/nowhere"\n')
    daemon = node.start()

    def look(handler="gpu", annotations=None, **config):
        """What a container of a new pod sees, by an injector that has read the files as they are now."""
        script = 'hook-injector -idx 10 -socket-path "$0" -disableWatch >"$1" 2>&1 </dev/null & echo $!'
        [pid] = node.machine.run(["sh", "-ec", script, socket, log]).stdout.split()
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
