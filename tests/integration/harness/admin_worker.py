# SPDX-License-Identifier: Apache-2.0
"""Workers of Concourse, and what calls itself one: real processes in a pid namespace of their own, each with a root of
its own, and the command installed in the root of a host beside them."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from hosts.sysroot import Sysroot

from .admin import EXECDIR, FILES, SHIPPED, Command, InstalledHost
from .host import LIMIT_S
from .stopped import find, status, wait_until

DIRECTORY = "opt/hooks"
CONCOURSE = "usr/local/concourse/bin/concourse"
COMMAND = "usr/local/bin/oci-gpu-hooks"
ENVIRONMENT = (f"CONCOURSE_CONTAINERD_OCI_HOOKS_DIR=/{DIRECTORY}", "CONCOURSE_RUNTIME=containerd")
ALWAYS = {"mount-srv": ["--opt-in", "always", "--request", "all"],
          "nvidia-devices": ["--opt-in", "always", "--request", "any:1"],
          "amd-kfd": ["--opt-in", "always", "--request", "any:1"],
          "cdi-devices": ["--opt-in", "always", "--request", "none"], "ldcache-update": []}

# Becomes a program in another root, perhaps with fewer rights. It is run in the namespaces of the machine.
LAUNCH = r"""
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
spec = json.loads(sys.argv[1])

def call(function, *args):
    if function(*[os.fsencode(each) if isinstance(each, str) else each for each in args]) != 0:
        raise OSError(ctypes.get_errno(), f"{function.__name__}{args}")

NEWNS, NEWUSER, BIND, REC, PRIVATE, DETACH = 0x20000, 0x10000000, 4096, 16384, 1 << 18, 2
CAPBSET_DROP, NO_NEW_PRIVS, SYS_ADMIN = 24, 38, 21
call(libc.unshare, NEWNS | (NEWUSER if spec["userns"] else 0))
if spec["userns"]:
    with open("/proc/self/uid_map", "w", encoding="ascii") as file:
        file.write("0 0 1")
call(libc.mount, "none", "/", None, REC | PRIVATE, None)
call(libc.mount, spec["root"], spec["root"], None, BIND | REC, None)
os.chdir(spec["root"])
if spec["proc"]:
    own = {name: os.open(name, os.O_PATH) for name in ("proc/driver", "proc/devices") if os.path.exists(name)}
    call(libc.mount, "proc", "proc", "proc", 0, None)
    for name, fd in own.items():
        call(libc.mount, f"/proc/self/fd/{fd}", name, None, BIND, None)
call(libc.pivot_root, ".", ".")
call(libc.umount2, ".", DETACH)
os.chdir("/")
if not spec["sys_admin"]:
    call(libc.prctl, CAPBSET_DROP, SYS_ADMIN, 0, 0, 0)
if spec["uid"]:
    os.setgroups([])
    os.setgid(spec["uid"])
    os.setuid(spec["uid"])
    call(libc.prctl, NO_NEW_PRIVS, 1, 0, 0, 0)
os.execve(spec["path"], spec["words"], dict(each.split("=", 1) for each in spec["environment"]))
"""

# On SIGUSR1 it becomes what lies beside it, with the same words.
WAITING = r"""
#include <signal.h>
#include <unistd.h>
static char **words;
static void become(int signal) { (void)signal; execv("/usr/local/concourse/bin/runc", words); }
int main(int argc, char **argv)
{
    (void)argc;
    words = argv;
    signal(SIGUSR1, become);
    for (;;)
        pause();
}
"""


def make_waiting_program(path):
    """A static program that does nothing until it is killed, or told to be another one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-static", "-x", "c", "-o", path, "-"], input=WAITING, text=True, check=True)
    return path


class Machine:
    """A pid namespace with a host (an InstalledHost, in which the command is installed) and other processes; its init is
    `pid`."""

    def __init__(self, host, oci_gpu_hooks):
        self.host = host
        (host.path / COMMAND).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(oci_gpu_hooks, host.path / COMMAND)
        (host.path / "dev").mkdir(exist_ok=True)
        os.mknod(host.path / "dev/null", 0o20666, os.makedev(1, 3))
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "sleep", "infinity"],
            stdin=subprocess.DEVNULL)
        self.pid = self._wait_for(self._child)
        self._started = []
        self.worker = None

    @staticmethod
    def _wait_for(look):
        deadline = time.monotonic() + LIMIT_S
        while (found := look()) is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        return found

    def _child(self):
        found = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children").read_text("ascii").split()
        with contextlib.suppress(OSError):
            if found and Path(f"/proc/{found[0]}/comm").read_text("ascii") == "sleep\n":
                return found[0]
        return None

    def launch(self, root, path, words, environment=(), **rights):
        """The command line that becomes a program in that root."""
        spec = {"root": str(root), "path": path, "words": [*words], "environment": [*environment],
                "proc": False, "uid": 0, "sys_admin": True, "userns": False, **rights}
        return ["/usr/bin/python3", "-ISc", LAUNCH, json.dumps(spec)]

    def inside(self, argv):
        return ["nsenter", f"--mount=/proc/{self.pid}/ns/mnt", f"--pid=/proc/{self.pid}/ns/pid", "--", *argv]

    def start(self, root, words=("concourse", "worker"), environment=ENVIRONMENT, path=f"/{CONCOURSE}", **rights):
        """Starts such a process; it goes with the machine. Gives its number in there; `worker` is its number here."""
        process = subprocess.Popen(self.inside(self.launch(root, path, words, environment, **rights)),
                                   stdin=subprocess.DEVNULL)
        self._started.append(process)
        return self._wait_for(lambda: self._pid_of(process, words))

    def _pid_of(self, process, words):
        assert process.poll() is None
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii").split()
        with contextlib.suppress(OSError):
            if children and Path(f"/proc/{children[0]}/cmdline").read_bytes() == b"".join(
                    os.fsencode(word) + b"\0" for word in words):
                self.worker = int(children[0])
                return int(status(children[0])["NSpid"].split()[-1])
        return None

    @contextlib.contextmanager
    def command_stopped(self, name, opened, trace):
        """The command stands still while the block runs, behind its openat(2) of that word. Gives a function that lets it
        go on, and gives what it says."""
        strace = ["strace", "-qq", "-o", str(trace), "-P", opened, "-e", "trace=openat", "-e",
                  "inject=openat:signal=SIGSTOP:when=1"]
        trace.write_text("", "utf-8")
        process = subprocess.Popen(self.inside([*strace, *self.launch(
            self.host.path, f"/{COMMAND}", [f"/{COMMAND}", name], proc=True)]), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")

        def go_on():
            os.kill(find(f"/{COMMAND}", name), signal.SIGCONT)
            out, err = process.communicate(timeout=LIMIT_S)
            return subprocess.CompletedProcess([], process.returncode, out, err)
        try:
            wait_until(lambda: "stopped by SIGSTOP" in trace.read_text("utf-8"), "the command does not stop", process)
            yield go_on
        finally:
            process.kill()
            process.wait()

    def command(self, name, *args, uid=0):
        """The command line of oci-gpu-hooks on the host."""
        words = [f"/{COMMAND}", name, *args]
        return self.inside(self.launch(self.host.path, words[0], words, proc=True, uid=uid))

    def close(self):
        self._holder.kill()
        self._holder.wait()
        for process in self._started:
            process.wait()


class MachineCommand(Command):
    """oci-gpu-hooks on a machine, which needs no --sysroot."""

    def __init__(self, machine, uid=0):
        super().__init__(None)
        self._machine, self._uid = machine, uid

    def run(self, name, *args):
        return subprocess.run(self._machine.command(name, *args, uid=self._uid), check=False, capture_output=True,
                              stdin=subprocess.DEVNULL, encoding="utf-8", timeout=LIMIT_S)


class Worker(Sysroot):
    """The root of a worker. All hooks are in the directory that it reads, always on."""

    def __init__(self, path, built, program):
        super().__init__(path)
        for directory in (DIRECTORY, EXECDIR, Path(CONCOURSE).parent):
            (self.path / directory).mkdir(parents=True)
        for name, file in FILES.items():
            shutil.copy(built / "hooks" / name / name, self.path / EXECDIR)
            self.put(f"{DIRECTORY}/{file}", InstalledHost.document(name, ALWAYS[name], {"always": True}))
        for name in ("concourse", "runc"):
            shutil.copy(program, self.path / Path(CONCOURSE).parent / name)

    put, change = InstalledHost.put, InstalledHost.change


def without_podman(host):
    """The host is for workers alone."""
    host.remove("usr/bin/podman")
    host.remove(SHIPPED)
