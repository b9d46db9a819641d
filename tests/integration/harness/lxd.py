# SPDX-License-Identifier: Apache-2.0
"""LXD itself, started by hand in a mount namespace whose /dev and /usr have a machine's GPUs and its driver, and a
worker in an unprivileged container of it, which is made by the very lines of examples/lxd."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from .admin_worker import make_waiting_program
from .host import LIMIT_S

PROJECT = Path(__file__).resolve().parents[3]
EXAMPLE = PROJECT / "examples/lxd"
FIRST = 100000
NAME = "worker"
UNIT = "[Service]\nExecStart=/usr/local/concourse/bin/concourse worker\n"
PLACES = "/etc/systemd/system/concourse-worker.service"
# The daemon's. Its /dev has what every system has, and the machine's nodes.
SET_UP = r"""
mount -t tmpfs -o mode=755 dev "$WORK/dev"
cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/fuse "$MACHINE/dev/." "$WORK/dev"
mkdir "$WORK/dev/net" "$WORK/dev/pts" "$WORK/dev/shm"
cp -a /dev/net/tun "$WORK/dev/net"
mount --rbind /dev/pts "$WORK/dev/pts"
ln -s pts/ptmx "$WORK/dev/ptmx"
mknod -m 660 "$WORK/dev/kfd" c 511 0
mount --rbind "$WORK/dev" /dev
mount -t overlay -o "lowerdir=$MACHINE/usr:/usr" overlay /usr
exec lxd --group root
"""


def lines_of(section):
    """The commands in a section of the example's README, as they stand there."""
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    part = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
    return "\n".join(line[4:] for line in part.splitlines() if line.startswith("    ")) + "\n"


class LxdContainer:
    """The interface of SystemContainer."""

    def __init__(self, machine, shared, archive):
        subprocess.run([PROJECT / "tests/roots/make_lxd"], check=True)
        self.journal, self.shared, self.owner, self._work = None, shared, FIRST, shared.parent / "lxd"
        for name in ("d", "dev", "example/lxd"):
            (self._work / name).mkdir(parents=True)
        self._environment = {**os.environ, "LXD_DIR": str(self._work / "d"), "WORK": str(self._work),
                             "MACHINE": str(machine)}
        with open(self._work / "log", "w", encoding="utf-8") as log:
            # pylint: disable=consider-using-with
            self._daemon = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-ec", SET_UP],
                                            env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self._make(machine, archive)
        except BaseException:
            self.close()
            raise

    def _make(self, machine, archive):
        self._lxd("lxd", "waitready", f"--timeout={LIMIT_S}")
        self.lxc("storage", "create", "default", "dir")
        self.lxc("profile", "device", "add", "default", "root", "disk", "path=/", "pool=default")
        self.lxc("image", "import", PROJECT / "build/lxd/image.tar", "--alias", "debian")
        self.lxc("init", "debian", NAME)
        # In place of the kernel's driver; and what the tests make.
        for name in ("driver", "devices"):
            self._disk(f"proc-{name}", machine / "proc" / name, f"/proc/{name}")
        self._disk("shared", self.shared, self.shared)
        self.lxc("start", NAME)
        self._stand_in()
        directory = self._work / "example/lxd"
        shutil.copytree(EXAMPLE, directory, dirs_exist_ok=True)
        shutil.copytree(EXAMPLE.parent / "concourse", directory.parent / "concourse")
        shutil.copy(archive, directory)

    def _disk(self, name, source, path):
        self.lxc("config", "device", "add", NAME, name, "disk", f"source={source}", f"path={path}")

    def _stand_in(self):
        """What calls itself concourse only waits."""
        program = make_waiting_program(self._work / "concourse")
        self._wait()
        self.lxc("file", "push", "--create-dirs", "--mode=755", program, f"{NAME}/usr/local/concourse/bin/concourse")
        self.run("sh", "-ec", f"cat >{PLACES}", input=UNIT)

    def _wait(self):
        self.run("sh", "-c", "until systemctl is-system-running | grep -qE 'running|degraded'; do sleep 0.1; done")

    def _lxd(self, *words, **options):
        done = subprocess.run([*map(os.fspath, words)], env=self._environment, check=False, capture_output=True,
                              text=True, timeout=LIMIT_S, **{"stdin": subprocess.DEVNULL, **options})
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def lxc(self, *words):
        return self._lxd("lxc", *words)

    def follow(self, section):
        """Runs the commands of that section, in the directory of the example."""
        said = self._lxd("sh", "-exc", lines_of(section), cwd=self._work / "example/lxd")
        self._wait()
        return said

    def restart(self):
        self.lxc("restart", "--force", NAME)
        self._wait()

    def command(self, argv):
        return ["env", f"LXD_DIR={self._work}/d", "lxc", "exec", NAME, "--", *map(os.fspath, argv)]

    def run(self, *argv, check=True, **options):
        stdin = {} if "input" in options else {"stdin": subprocess.DEVNULL}
        done = subprocess.run(self.command(argv), check=False, capture_output=True, text=True, timeout=LIMIT_S, **stdin,
                              **options)
        assert not check or done.returncode == 0, (argv, done.stdout, done.stderr)
        return done

    def check(self):
        """A host of its own has no mounts that others look at."""

    def start_worker(self, directory):
        drop_in = f"[Service]\nEnvironment=CONCOURSE_CONTAINERD_OCI_HOOKS_DIR={directory}\n"
        self.run("sh", "-ec", f"mkdir -p {PLACES}.d; cat >{PLACES}.d/z.conf; systemctl daemon-reload; "
                 "systemctl restart concourse-worker", input=drop_in)

    def prepare(self, box):
        """A runtime can do all of it there."""

    def give(self, path):
        """Its root owns what is there."""
        subprocess.run(["chown", "-hR", f"{self.owner}:{self.owner}", path], check=True)

    def close(self):
        environment = {**self._environment}
        for words in (["lxc", "delete", "--force", NAME], ["lxd", "shutdown"]):
            subprocess.run(words, env=environment, check=False, capture_output=True, stdin=subprocess.DEVNULL,
                           timeout=LIMIT_S)
        self._daemon.terminate()
        self._daemon.wait(LIMIT_S)
        time.sleep(0.5)  # its last processes end
        subprocess.run(["find", "/sys/fs/cgroup", "-ignore_readdir_race", "-depth", "-type", "d", "-name", "lxc.*",
                        "-exec", "rmdir", "--ignore-fail-on-non-empty", "{}", "+"], check=False, capture_output=True)
