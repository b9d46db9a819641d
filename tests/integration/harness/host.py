# SPDX-License-Identifier: Apache-2.0
"""The host that a runtime runs on: a mount namespace of its own, so that a test may mount what
it likes, and so that whatever leaks out of a container is seen and then gone with the namespace."""

import os
import socket
import subprocess
import time

from . import mounts
from .journal import Journal
from .processes import children

LIMIT_S = 120
HYBRID = "/sys/fs/cgroup/unified"  # crun refuses to run where it is mounted
SHARED_AS_SYSTEMD_DOES = "shared"


class Host:
    """A mount namespace held open by one process; commands enter it by nsenter. `set_up` are commands of a shell, which
    run in it first. With `own_processes` it is a pid namespace as well, with a /proc that shows no others."""

    journal = None

    def __init__(self, cgroup, propagation=SHARED_AS_SYSTEMD_DOES, set_up=(), own_processes=False):
        # Private first, then shared: peers among themselves, not of the real host.
        set_up = [*set_up, f"mount --make-r{propagation} /", "exec sleep infinity"]
        if cgroup == "v2":
            set_up.insert(0, "mount -t cgroup2 cgroup2 /sys/fs/cgroup")
        if cgroup == "not-hybrid" and os.path.ismount(HYBRID):
            set_up.insert(0, f"umount {HYBRID}")
        self._own_processes = own_processes
        kinds = ["--pid", "--fork", "--kill-child", "--mount-proc"] if own_processes else []
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", *kinds, "sh", "-ec", "; ".join(set_up)],
            stdin=subprocess.DEVNULL)
        self.pid = self._holder.pid
        try:
            self._wait_until_set_up()
            self._expected = self.table()
        except BaseException:
            self.close()
            raise

    def _wait_until_set_up(self):
        # The shell has done its work as soon as it has become the last program that it runs.
        deadline = time.monotonic() + LIMIT_S
        while open(f"/proc/{self.pid}/comm", encoding="ascii").read() != "sleep\n":
            assert self._holder.poll() is None and time.monotonic() < deadline, "no private mount namespace"
            if self._own_processes and self.pid == self._holder.pid and (found := children(self.pid)):
                [self.pid] = found
            time.sleep(0.002)

    def command(self, argv):
        """`argv` as it has to be run to be in this host's namespaces; with `own_processes` as the one child of that."""
        processes = [f"--pid=/proc/{self.pid}/ns/pid"] if self._own_processes else []
        return ["nsenter", f"--mount=/proc/{self.pid}/ns/mnt", *processes, "--", *map(os.fspath, argv)]

    def run(self, argv, check=True, **options):
        """Run a command on this host; gives the CompletedProcess, output as text."""
        return subprocess.run(self.command(argv), check=check, capture_output=True,
                              encoding="utf-8", errors="surrogateescape",
                              **{"timeout": LIMIT_S, **options})

    def mount(self, *args):
        """A mount that the test wants on the host: from now on part of what is expected."""
        self.run(["mount", *args])
        self.expect_table_as_it_is()

    def expect_table_as_it_is(self):
        """From now on all that is mounted on the host by now is what is expected."""
        self._expected = self.table()

    def table(self):
        """The host's mount table, as the kernel prints it."""
        path = f"/proc/{self.pid}/mountinfo"
        return open(path, encoding="utf-8", errors="surrogateescape").read()

    def mounts(self):
        return mounts.parse(self.table())

    def check(self):
        """The promise that every test keeps: the host's mount table is as it was."""
        seen = self.table().splitlines()
        expected = self._less_removed(self._expected.splitlines(), set(seen))
        assert seen == expected, "the host's mount table has changed: " + "; ".join(
            sorted(set(seen) ^ set(expected)))

    def _less_removed(self, expected, seen):
        """Without mounts that are gone together with their directory: whoever on this machine removes a directory takes the
        copies of its mounts away from every other namespace."""
        return [line for line in expected
                if line in seen or os.path.lexists(self.path(mounts.parse(line)[0].point))]

    def path(self, path):
        """Where the test finds a path of this host, its private mounts included."""
        return f"/proc/{self.pid}/root{path}"

    def _own_dev(self, directory):
        # With podman's locks, too: those in the real /dev/shm belong to every podman of the machine.
        self.run(["sh", "-ec", 'mount -t tmpfs -o mode=755 dev "$0"; cd "$0"; mkdir pts; mkdir -m 1777 shm;'
                               " mount --rbind /dev/pts pts; ln -s pts/ptmx ptmx;"
                               ' cd /dev; cp -a null zero full random urandom tty "$0"; mount --rbind "$0" /dev',
                  directory])
        self.expect_table_as_it_is()

    def keep_journal(self, directory):
        """From now on what hooks say to syslog on this host is in `journal`."""
        self._own_dev(directory)
        self.journal = Journal(self.path("/dev/log"))

    def syslog(self, directory):
        """A /dev/log of this host's own, made in `directory`; the caller receives the datagrams."""
        self._own_dev(directory)
        log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        log.bind(self.path("/dev/log"))
        log.settimeout(10)
        return log

    def close(self):
        if self.journal:
            self.journal.close()
        self._holder.kill()
        self._holder.wait()
