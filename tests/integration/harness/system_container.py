# SPDX-License-Identifier: Apache-2.0
"""A worker in a container with a user namespace, as LXD makes them: its ids and its root are its own, and of the host's
GPUs it has the nodes that were passed in. Here by unshare(1); lxd.py has the real thing."""

import os
import signal
import subprocess

from .admin_worker import make_waiting_program
from .host import LIMIT_S
from .processes import children
from .stopped import status, wait_until

FIRST = 1000000
PROGRAM = "/usr/local/concourse/bin/concourse"
DRIVER = "/opt/host"  # below which the host's driver is
OTHERS = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")

# In the namespaces, as their root. A second /proc without anything on it lets others be mounted, as LXD's nesting does.
# A mount of the host's cannot be taken apart, so that each is copied with all below it.
SET_UP = r"""
mount -t tmpfs -o mode=755 tmpfs "$ROOT"
cd "$ROOT"
mkdir -p proc sys run tmp etc/containers var/lib var/log root usr mnt dev/.proc dev/pts dev/shm .$DRIVER/usr ".$SHARED"
for name in bin sbin lib lib64; do ln -s "usr/$name" "$name"; done
cp /etc/passwd /etc/group /etc/ld.so.cache etc
mount --rbind /usr usr
mount --rbind "$INSTALLED" usr/local
mount -t tmpfs -o mode=755 tmpfs usr/local/concourse
mkdir usr/local/concourse/bin
cp "$SHARED/concourse" usr/local/concourse/bin
mount -t proc proc proc
mount -t proc proc dev/.proc
mount --rbind /sys sys
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
for path in /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty $NODES; do
    : >"dev/${path##*/}"
    mount --bind "$path" "dev/${path##*/}"
done
mount --rbind "$MACHINE/proc/driver" proc/driver
mount --bind "$MACHINE/proc/devices" proc/devices
mount --rbind "$MACHINE/usr" ".$DRIVER/usr"
mount --rbind "$SHARED" ".$SHARED"
pivot_root . mnt
cd /
umount -l mnt
exec sleep infinity
"""


class UserNamespace:
    """A first process that does nothing in namespaces of its own, with ids as LXD maps them; `script` ends by being it.
    A container in the container: it takes the place of a host for a box."""

    def __init__(self, host, script, environment=()):
        # pylint: disable=consider-using-with
        self._unshare = subprocess.Popen(
            host.command(["env", *environment, "unshare", "--user", "--mount", "--net", "--pid", "--fork", "--kill-child",
                          "--mount-proc", f"--map-users={FIRST},0,65536", f"--map-groups={FIRST},0,65536", "--setuid=0",
                          "--setgid=0", "sh", "-ec", script]), stdin=subprocess.DEVNULL)
        self.first = None
        wait_until(self._has_begun, "no system container", self._unshare)

    def _has_begun(self):
        for pid in children(self._unshare.pid):
            self.first = pid
            try:
                return status(pid)["Name"] == "sleep"
            except FileNotFoundError:
                continue  # one of the programs that map the ids
        return False

    def enter(self, *options):
        """What a command begins with that is to run in there, as its root."""
        namespaces = f"/proc/{self.first}/ns"
        return ["nsenter", *(f"--{kind}={namespaces}/{name}" for kind, name in
                             (("user", "user"), ("mount", "mnt"), ("net", "net"), ("pid", "pid"))),
                "--setuid=0", "--setgid=0", *options, "--"]

    def command(self, argv):
        return [*self.enter(), *map(os.fspath, argv)]

    def end(self):
        """With all that runs in it."""
        os.kill(self.first, signal.SIGKILL)
        self._unshare.wait()


class SystemContainer(UserNamespace):
    """`shared` is a directory that has one path here and in it, `installed` what is its /usr/local, and `passed` are the GPUs
    of `machine` that it was given. Takes the place of a host for a box."""

    def __init__(self, host, machine, passed, shared, installed):
        self.journal, self.shared, self.owner, self._worker = None, shared, FIRST, None
        (shared / "root").mkdir()
        (installed / "concourse").mkdir()
        make_waiting_program(shared / "concourse")
        ids = shared / "ids"  # by which newuidmap lets root map such ids
        ids.write_text(f"root:{FIRST}:65536\n", encoding="ascii")
        for name in ("subuid", "subgid"):
            host.mount("--bind", ids, f"/etc/{name}")
        nodes = " ".join(f"{machine}/dev/{name}" for name in (*OTHERS, *(gpu.node[5:] for gpu in passed)))
        super().__init__(host, SET_UP, [f"ROOT={shared}/root", f"SHARED={shared}", f"INSTALLED={installed}",
                                        f"DRIVER={DRIVER}", f"MACHINE={machine}", f"NODES={nodes}"])

    def command(self, argv):
        return [*self.enter(f"--root=/proc/{self.first}/root", "--wd=/"), "env", "-i",
                "PATH=/usr/local/bin:/usr/sbin:/usr/bin", *map(os.fspath, argv)]

    def run(self, *argv, check=True, **options):
        done = subprocess.run(self.command(argv), check=False, capture_output=True, text=True, timeout=LIMIT_S, **options)
        assert not check or done.returncode == 0, (argv, done.stdout, done.stderr)
        return done

    def check(self):
        """A host of its own has no mounts that others look at."""

    def start_worker(self, directory):
        """As its unit does. What calls itself concourse only waits."""
        if self._worker:
            for pid in children(self._worker.pid):  # nsenter's own child
                os.kill(pid, signal.SIGKILL)
            self._worker.wait()
        # pylint: disable=consider-using-with
        self._worker = subprocess.Popen(
            self.command(["env", f"CONCOURSE_CONTAINERD_OCI_HOOKS_DIR={directory}", "CONCOURSE_RUNTIME=containerd", PROGRAM,
                          "worker"]), stdin=subprocess.DEVNULL)
        wait_until(lambda: PROGRAM in self.run("sh", "-c", "readlink /proc/[0-9]*/exe || true").stdout, "no worker",
                   self._worker)

    def prepare(self, box):
        """What a runtime can do in there: it has no cgroups of its own."""
        linux = box.config["linux"]
        linux["namespaces"] = [each for each in linux["namespaces"] if each["type"] not in ("network", "cgroup")]
        del linux["resources"]
        box.config["mounts"] = [each for each in box.config["mounts"] if each["destination"] != "/sys/fs/cgroup"]

    def give(self, path):
        """Its root owns what is there."""
        subprocess.run(["chown", "-hR", f"{self.owner}:{self.owner}", path], check=True)

    def close(self):
        self.end()
        if self._worker:
            self._worker.wait()
