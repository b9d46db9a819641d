# SPDX-License-Identifier: Apache-2.0
"""A container whose root has CAP_SYS_ADMIN in the container's own user namespace: it may mount, but it
can take nothing back of what it was given."""

import subprocess

import pytest

from harness import engines
from harness.expect import started
from harness.source import tree

SPACES = [*engines.MAPPED, engines.MAPPED_PODMANS[0]]

# mount_setattr(2) by itself: attributes that mount(8) would not take away, and all mounts at once.
CLEAR_ATTRIBUTES = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static const struct { const char *name; unsigned long long flag; } attributes[] = {
        {"ro", MOUNT_ATTR_RDONLY}, {"nosuid", MOUNT_ATTR_NOSUID}, {"nodev", MOUNT_ATTR_NODEV}};
    for (int i = 1; i < argc; ++i) {
        for (unsigned j = 0; j < 2 * sizeof attributes / sizeof *attributes; ++j) {
            struct mount_attr attr = {.attr_clr = attributes[j / 2].flag};
            long result = syscall(SYS_mount_setattr, AT_FDCWD, argv[i], j % 2 ? 0x8000 : 0,
                                  &attr, sizeof attr);
            printf("%s %s: %s\n", argv[i], attributes[j / 2].name, result ? strerror(errno) : "cleared");
        }
    }
    return 0;
}
"""


@pytest.fixture(name="clear_attributes", scope="module")
def clear_attributes_fixture(tmp_path_factory):
    """A static program that tries to clear each attribute of the mounts it is given."""
    directory = tmp_path_factory.mktemp("program")
    (directory / "clear.c").write_text(CLEAR_ATTRIBUTES, encoding="ascii")
    subprocess.run(["cc", "-static", "-o", directory / "clear", directory / "clear.c"], check=True)
    return directory / "clear"


@pytest.fixture(name="covered")
def covered_fixture(srv, journal_host):
    """Two directories in which a mount covers what no container is to see."""
    for name in ("datasets", "x_rw"):
        srv.directory(name)
        (srv / name / "live").mkdir()
        srv.write(f"{name}/live/secret", "below the mount\n")
        journal_host.mount("-t", "tmpfs", "-o", "mode=755", "memory", srv / name / "live")
    return srv


@pytest.fixture(name="powerful")
def powerful_fixture(covered, engine_box):
    """A function that runs a script in a container with that capability."""
    def run(engine, script, *options):
        box = engine_box(engine, "all", *options)
        box.add_capability("CAP_SYS_ADMIN")
        box.add_capability("CAP_DAC_OVERRIDE")
        for name in ("look", "away"):
            (box.rootfs / name).mkdir()
        before = tree(covered.path / "datasets")
        result = box.run(script)
        assert tree(covered.path / "datasets") == before
        return result

    return run


@pytest.mark.parametrize("engine", SPACES, ids=str)
def test_it_may_mount(powerful, engine):
    """Else the others prove nothing."""
    assert started(powerful(engine, "mount -t tmpfs x /look && umount /look && echo yes")) == "yes\n"


@pytest.mark.parametrize("engine", SPACES, ids=str)
def test_read_only_cannot_be_remounted_writable(powerful, engine):
    script = "".join(f"mount -o remount,{how} {point} && echo {how} {point};"
                     for point in ("/srv/datasets", "/srv/datasets/live")
                     for how in ("bind,rw", "bind,rw,dev", "bind,rw,suid", "rw"))
    result = powerful(engine, script + "touch /srv/datasets/new /srv/datasets/live/new; true")
    assert started(result) == ""
    assert result.err.count("Read-only file system") == 2, result.err


@pytest.mark.usefixtures("covered")
@pytest.mark.parametrize("engine", engines.MAPPED, ids=str)
def test_no_attribute_can_be_cleared(engine, clear_attributes, engine_box):
    """By mount_setattr(2), of each mount alone and recursively, nor on a copy of the tree."""
    points = ["/srv/datasets", "/srv/datasets/live", "/srv/x_rw", "/srv/x_rw/live"]
    box = engine_box(engine, "all")
    box.add_capability("CAP_SYS_ADMIN")
    (box.rootfs / "look").mkdir()
    (box.rootfs / "clear").write_bytes(clear_attributes.read_bytes())
    (box.rootfs / "clear").chmod(0o755)
    seen = started(box.run(f"/clear {' '.join(points)}; mount --rbind /srv /look && /clear "
                           + " ".join(point.replace("/srv", "/look") for point in points)))
    lines = seen.splitlines()
    # Of a writable mount there is no read-only to be cleared; the call then changes nothing.
    cleared = {line for line in lines if line.endswith("cleared")}
    assert cleared <= {f"/{where}/x_rw{below} ro: cleared" for where in ("srv", "look")
                       for below in ("", "/live")}, cleared
    assert len(lines) == 48 and sum(line.endswith("Operation not permitted") for line in lines) >= 40


@pytest.mark.parametrize("engine", SPACES, ids=str)
@pytest.mark.parametrize("options", [(), ("--idmap",)], ids=["", "idmap"])
def test_what_a_mount_covers_cannot_be_uncovered(powerful, engine, options):
    """Neither by taking that mount away nor by looking at the directory without it."""
    script = ""
    for point in ("/srv/datasets", "/srv/x_rw"):
        script += (f"umount {point}/live && echo gone; umount -l {point}/live && echo gone lazily;"
                   f"mount --move {point}/live /away && echo moved;"
                   f"mount --bind {point} /look && echo bound;")
    result = powerful(engine, script + "find /srv /look /away -name secret", *options)
    assert started(result) == "", result.out


@pytest.mark.parametrize("engine", SPACES, ids=str)
def test_a_mount_namespace_of_its_own_does_not_help(powerful, engine):
    """Nor another user namespace below the container's."""
    tries = ("umount -l /srv/datasets/live && echo gone;"
             "mount -o remount,bind,rw /srv/datasets && echo writable;"
             "find /srv -name secret")
    result = powerful(engine, f"busybox unshare -m sh -c '{tries}';"
                              f"busybox unshare -m -U -r sh -c '{tries}'; true")
    assert started(result) == ""


@pytest.mark.parametrize("engine", SPACES, ids=str)
def test_a_directory_can_be_taken_away_whole(powerful, engine):
    """Which shows the container no more than its own empty placeholder."""
    result = powerful(engine, "umount -l /srv/datasets && ls -A /srv/datasets && echo empty")
    assert started(result) in ("", "empty\n")
