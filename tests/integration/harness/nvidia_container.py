# SPDX-License-Identifier: Apache-2.0
"""What a container has of a host's GPUs, and what their hook says. No driver of the machine that runs the tests
has these major numbers: opening a node says "No such device or address" if the device cgroup lets it pass,
and "Operation not permitted" if not."""

import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from hosts.nvidia import CTL, EIGHT, MAJOR, UVM

from . import gpu, rootfs
from .box import PREFIX
from .expect import refused_by
from .gpu import nodes_of
from .ldcache import OWN_MOUNTS, in_the_container

KEY = PREFIX + "nvidia-devices"
CAPABILITIES = KEY + ".capabilities"
CHANNELS = KEY + ".imex"
refused = partial(refused_by, "nvidia-devices")
error_of = partial(gpu.error_of, "nvidia-devices")
asked = partial(gpu.asked, KEY)
ALLOWED, DENIED = "No such device or address", "Operation not permitted"
UVM_NODES = ["/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]

# For a container's shell: prints of each path what it is, and what opening it says. What is no character
# device is not opened: a FIFO would wait.
PROBE = ('probe() { for p in "$@"; do said=; [ ! -c "$p" ] || said=$( { : <>"$p"; } 2>&1 ); '
         'echo "$p|$(stat -c "%F|%a|%u:%g|%t:%T" "$p" 2>&1)|${said##*: }"; done; }; ')


@dataclass(frozen=True)
class Seen:
    """A path in a container."""

    kind: str
    mode: str = ""
    owner: str = ""
    number: tuple = ()
    said: str = ""


def probed(text):
    """What `probe` printed, by path; "" for what is not there."""
    seen = {}
    for line in text.splitlines():
        path, *fields = line.split("|")
        if len(fields) < 5:
            seen[path] = None
            continue
        kind, mode, owner, number, said = fields
        seen[path] = Seen(kind, mode, owner, tuple(int(part, 16) for part in number.split(":")), said)
    return seen


def node(major, minor, said=ALLOWED, owner="0:0", mode="666"):
    """A node that the container was given."""
    return Seen("character special file", mode, owner, (major, minor), said)


def given(*gpus, said=ALLOWED, uvm=True):
    """The nodes for these GPUs with the capabilities compute and utility."""
    nodes = {gpu.node: node(MAJOR, gpu.minor, said) for gpu in gpus}
    if gpus:
        nodes["/dev/nvidiactl"] = node(MAJOR, CTL, said)
    if uvm:
        nodes["/dev/nvidia-uvm"] = node(UVM, 0, said)
        nodes["/dev/nvidia-uvm-tools"] = node(UVM, 1, said)
    return nodes


def gpus_of(edits):
    """Those of EIGHT that are in a plan, as places in PCI order."""
    return [n for n, gpu in enumerate(EIGHT) if gpu.node in nodes_of(edits)]


def nothing(process):
    """A hook that was run by hand has nothing to do; gives what it says of that."""
    assert process.returncode == 0, process.stderr
    assert "/dev/nvidia" not in process.stdout and "gpus" not in process.stdout, process.stdout
    return process.stderr


class Alive:
    """A container that runs; `out` is what its program has printed so far."""

    def __init__(self, box, run, out):
        self._box, self._run, self.out = box, run, out

    def exec(self, user, script):
        """What a shell prints that runs `script` in the container later, as another process."""
        words = self._box.runtime.command("exec", "--user", f"{user}:{user}", self._run.name,
                                          "sh", "-c", script)
        return self._box.host.run(words).stdout


@contextmanager
def alive(box, script):
    """Runs `script` in a container that goes on until the block ends."""
    if hasattr(box, "options"):
        box.options.append("--interactive")
    run = box.start(f"{PROBE} {script}; echo ==; read line")
    lines = []
    try:
        while (line := run.process.stdout.readline()) not in ("==\n", ""):
            lines.append(line)
        if line:
            yield Alive(box, run, "".join(lines))
    finally:
        result = run.finish()
    assert line, (result.err, result.said)


def without_dev(box):
    """The container gets no /dev from the runtime, but has the image's, which is its root's."""
    owner = next((entry["hostID"] for entry in box.config["linux"].get("uidMappings", ())), 0)
    for path in [box.rootfs / "dev", *(box.rootfs / "dev").rglob("*")]:
        os.lchown(path, owner, owner)
    box.config["mounts"] = [m for m in box.config["mounts"] if not m["destination"].startswith("/dev")]


def without_proc_driver(box):
    """This kernel has no driver, as it is in truth."""
    box.in_proc = []
    if hasattr(box, "options"):
        box.options = [word for word in box.options if "/proc/driver" not in word and word != "--tmpfs"]
    box.config["mounts"] = [m for m in box.config["mounts"] if "/proc/driver" not in m["destination"]]


def in_vain(box, file):
    """The container starts even if the hook fails, whose exit code is then in `file`: so one can look at what
    a hook that failed has left."""
    # strace is the shell's own child here: crun could wait for ever if it got one more child that ends.
    own = [word for word in box.wrapper if word != "-D"]
    box.wrapper = (str(rootfs.BUSYBOX), "sh", "-c", f'"$0" "$@"; echo $? > "{file}"', *own)


def snapshot(file):
    """A hook that only looks: the mounts, and all that is in /dev and in the driver's directory in /proc."""
    return in_the_container(f'({OWN_MOUNTS}; cd "$ROOT"; find dev proc/driver -printf'
                            f' "%p %y %i %D %U %G %m %l\\n" | sort) > "{file}"')
