# SPDX-License-Identifier: Apache-2.0
"""A node whose containerd starts pods."""

import json

from hosts.nvidia import CTL, MAJOR, UNUSED, UVM

from .cri import IMAGE, Containerd
from .node import CONFIG, DROP_INS, PLUGIN, PLUGIN_2, SPEC, Node, is_version_1
from .nvidia_container import PROBE
from .nvidia_container import node as node_of

DIRECTORY = "/var/run/nvidia-container-devices/"  # of NVIDIA's device plugin
LOOK = f"{PROBE} probe $(ls -d /dev/nvidia* 2>/dev/null)"


def mounted(name):
    """What the plugin answers kubelet for that GPU, or for that word."""
    return {"mounts": [{"container_path": DIRECTORY + name, "host_path": "/dev/null"}]}


def given(*gpus):
    nodes = {gpu.node: node_of(UNUSED[MAJOR], gpu.minor) for gpu in gpus}
    nodes["/dev/nvidiactl"] = node_of(UNUSED[MAJOR], CTL)
    return nodes | {f"/dev/nvidia-{name}": node_of(UNUSED[UVM], minor) for minor, name in enumerate(("uvm", "uvm-tools"))}


def configured(directory, has_systemd):
    """containerd's configuration as an administrator has it, with a second runtime, which has the driver systemd."""
    own = PLUGIN if is_version_1() else PLUGIN_2
    image = (f'[plugins."{PLUGIN}"]\nsandbox_image = "{IMAGE}"\nrestrict_oom_score_adj = true\n' if is_version_1() else
             f'[plugins."io.containerd.cri.v1.images".pinned_images]\nsandbox = "{IMAGE}"\n'
             f'[plugins."{PLUGIN_2}"]\nrestrict_oom_score_adj = true\n')
    runtimes = "".join(f'[plugins."{own}".containerd.runtimes.{name}]\nruntime_type = "io.containerd.runc.v2"\n'
                       f'[plugins."{own}".containerd.runtimes.{name}.options]\nSystemdCgroup = {driver}\n'
                       for name, driver in (("runc", str(has_systemd).lower()), ("systemd", "true")))
    return (f'version = {2 if is_version_1() else 3}\nimports = {DROP_INS}\n'
            f'root = "{directory}/root"\nstate = "{directory}/state"\n[grpc]\naddress = "{directory}/socket"\n'
            f'[ttrpc]\naddress = "{directory}/ttrpc"\n{image}{runtimes}')


class CriNode(Node):
    """With a daemon; whether its default runtime has the cgroups of pods made by systemd."""

    daemon, has_systemd = None, False

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
        self.directory.mkdir()
        self.write(configured(self.directory, self.has_systemd) + more)

    def start(self):
        self.daemon = Containerd(self.machine, self.directory, CONFIG)
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
    def directory(self):
        return self.path / "containerd"
