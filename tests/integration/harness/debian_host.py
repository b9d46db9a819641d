# SPDX-License-Identifier: Apache-2.0
"""A host that is a Debian release of its own: the root filesystem, with its apt and its programs, on this kernel."""

import shutil
import subprocess
from pathlib import Path

from .host import Host

PROJECT = Path(__file__).resolve().parents[3]
RELEASES = ("bookworm", "trixie")
# As root on a console; not what the tests themselves are run with.
ENVIRONMENT = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8",
               "DEBIAN_FRONTEND=noninteractive")
APT = ("apt-get", "-q", "-y", "-o", "DPkg::Options::=--force-unsafe-io", "-o", "APT::Sandbox::User=root")
# What apt and dpkg say of themselves, and what they make of all packages that are there. resolv.conf is the test's.
NOT_COMPARED = ("etc/.pwd.lock", "etc/ld.so.cache", "etc/resolv.conf", "var/cache/apt", "var/cache/debconf",
                "var/cache/ldconfig", "var/lib/apt", "var/lib/dpkg", "var/log")
LIMIT_S = 3000


def tree(release, kind):
    """One of the root filesystems of tests/roots/make_packaging; only to be read."""
    subprocess.run([PROJECT / "tests/roots/make_packaging", release], check=True)
    return PROJECT / f"build/packaging-{release}" / kind


def plain(release):
    """The one that has apt and what it needs, alone."""
    subprocess.run([PROJECT / "tests/roots/make_packaging", "--plain", release], check=True)
    return PROJECT / f"build/plain-{release}/plain"


class DebianHost(Host):
    """An overlay on `lower`, in `directory`. Each of `shared` is a directory that has the same path on it and here."""

    def __init__(self, lower, directory, *shared):
        self._lower, self._upper = lower, directory / "upper"
        root = directory / "root"
        for path in (root, directory / "work", self._upper / "etc"):
            path.mkdir(parents=True)
        self._upper.chmod(0o755)
        shutil.copy("/etc/resolv.conf", self._upper / "etc")
        super().__init__("not-hybrid", set_up=[
            f"mount -t overlay -o lowerdir={lower},upperdir={self._upper},workdir={directory}/work overlay {root}",
            f"cd {root}",
            "mount -t proc proc proc", "mount --rbind /sys sys",
            "mount -t tmpfs -o mode=755 run run", "mount -t tmpfs -o mode=1777 tmp tmp",
            "mount -t tmpfs -o mode=755 dev dev", "mkdir dev/pts", "mkdir -m 1777 dev/shm",
            "mount --rbind /dev/pts dev/pts", "ln -s pts/ptmx dev", "ln -s /proc/self/fd dev",
            "cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty dev",
            *(f"mkdir -p .{path} && mount --bind {path} .{path}" for path in shared),
            "pivot_root . mnt", "cd /", "umount -l mnt"])

    def command(self, argv):
        return super().command([*ENVIRONMENT, *argv])

    def run(self, argv, check=True, **options):
        done = super().run(argv, check=False, **{"timeout": LIMIT_S, **options})
        assert not check or done.returncode == 0, (argv, done.stdout[-4000:], done.stderr[-4000:])
        return done

    def apt(self, *args):
        return self.run([*APT, *args]).stdout

    def changes(self):
        """The paths that are not as they were at first, but for NOT_COMPARED."""
        changed = set()
        for path in self._upper.rglob("*"):
            name = path.relative_to(self._upper).as_posix()
            if not f"{name}/".startswith(tuple(f"{each}/" for each in NOT_COMPARED)) and self._is_changed(path, name):
                changed.add(name)
        return changed

    def _is_changed(self, path, name):
        before = self._lower / name
        if path.is_symlink() or before.is_symlink():
            return not (path.is_symlink() and before.is_symlink()) or path.readlink() != before.readlink()
        if path.is_dir() and before.is_dir():
            return path.stat().st_mode != before.stat().st_mode
        return not (path.is_file() and before.is_file()) or path.stat().st_mode != before.stat().st_mode \
            or path.read_bytes() != before.read_bytes()
