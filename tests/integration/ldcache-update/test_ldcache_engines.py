# SPDX-License-Identifier: Apache-2.0
"""Directories that mount-srv brings, and the loader cache of which ldcache-update makes them a part: under
every engine, on roots of every kind, also when the container's own programs renew the cache."""

import os
import subprocess

import pytest

from harness import engines, rootless
from harness.debian_root import RELEASES, overlay, tree
from harness.expect import started
from harness.ldcache import CACHE, CONF, listed, mount_srv, snapshot
from harness.turns import in_turns

pytest_plugins = ["harness.ldcache_fixtures"]

PROBE = "/probe libgpu.so.1 libz.so.1 libm.so.6"
FOUND = ("libgpu.so.1 /srv/driver/libgpu.so.1\nlibz.so.1 /srv/driver/libz.so.1\n"
         "libm.so.6 /lib/x86_64-linux-gnu/libm.so.6\n")
OWNERS = f"stat -c '%u:%g %a %n' /{CACHE} /{CONF}"
OWNED = f"0:0 644 /{CACHE}\n0:0 644 /{CONF}\n"
FEW = [*engines.RUNTIMES, *engines.MAPPED, engines.PODMANS[0], engines.MAPPED_PODMANS[1]]
PLAIN = engines.RUNTIMES + engines.MAPPED


@pytest.mark.parametrize("engine", engines.ALL, ids=str)
def test_the_loader_finds_the_directory_under_every_engine(srv_box, engine):
    """The files that are made belong to the container's root, in a user namespace too."""
    box = srv_box(engine=engine)
    assert started(box.run(f"{PROBE}; {OWNERS}")) == FOUND + OWNED


@pytest.mark.parametrize("engine", [FEW[0], FEW[3]], ids=str)
def test_without_the_annotation_the_image_is_left_alone(srv_box, engine):
    box = srv_box(None, engine=engine)
    names = (CACHE, "etc/ld.so.conf")
    before = [(box.rootfs / name).read_bytes() for name in names]
    assert started(box.run(PROBE)).startswith("libgpu.so.1 - ")
    assert [(box.rootfs / name).read_bytes() for name in names] == before
    assert not (box.rootfs / CONF).exists()


def test_none_is_nothing(srv_box):
    box = srv_box("none", "--directory", "/srv/driver")
    assert started(box.run(PROBE)).startswith("libgpu.so.1 - ")


@pytest.mark.parametrize("engine", [FEW[1], FEW[2], FEW[4]], ids=str)
def test_on_a_read_only_root_the_cache_alone_is_mounted_over(srv_box, engine):
    box = srv_box(engine=engine)
    if engine.podman:
        box.options.append("--read-only")
    box.config["root"]["readonly"] = True
    before = (box.rootfs / CACHE).read_bytes()
    script = f"{PROBE}; stat -c '%u:%g %a %n' /{CACHE}; grep -c ' /etc/ld' /proc/self/mountinfo"
    assert started(box.run(script)) == f"{FOUND}0:0 644 /{CACHE}\n1\n"
    assert (box.rootfs / CACHE).read_bytes() == before and not (box.rootfs / CONF).exists()


@pytest.mark.parametrize("engine", [PLAIN[0], PLAIN[3]], ids=str)
def test_on_a_read_only_root_without_a_cache_there_is_one(srv_box, engine):
    """With the directory's libraries alone; the loader finds the others in its own directories."""
    box = srv_box(engine=engine)
    box.config["root"]["readonly"] = True
    (box.rootfs / CACHE).unlink()
    assert started(box.run(PROBE)) == FOUND
    assert (box.rootfs / CACHE).stat().st_size == 0


@in_turns("owner", [0, engines.ROOT, 4711], "engine", among=engines.MAPPED)
def test_whoever_owns_the_image_the_files_are_the_containers_roots(srv_box, engine, owner):
    box = srv_box(engine=engine)
    for path in [box.rootfs, *box.rootfs.rglob("*")]:
        os.lchown(path, owner, owner)
    (box.rootfs / "probe").chmod(0o755)
    assert started(box.run(f"{PROBE}; {OWNERS}")) == FOUND + OWNED
    assert (box.rootfs / CACHE).stat().st_uid == engines.ROOT


def test_rootless_podman(srv_box, driver, journal_host, scratch):
    """The directory is a volume: no hook of an ordinary user's may take it from elsewhere."""
    rootless.add_user(journal_host, scratch)
    os.chmod(journal_host.path("/dev/log"), 0o666)
    runtime = rootless.RootlessPodman(scratch / "rootless")
    first = srv_box("/srv/driver")
    box = rootless.RootlessBox(journal_host, runtime, first.bundle, first.hook, [])
    box.volume("/srv/driver", driver, "ro")
    scratch.chmod(0o755)
    try:
        assert started(box.run(f"{PROBE}; {OWNERS}")) == FOUND + OWNED
    finally:
        runtime.clean(journal_host)


@pytest.fixture(name="debian")
def debian_fixture(ld_box, driver, hook, srv, shop):
    """A function that makes a container of a Debian release with /srv/driver, its root an overlay."""
    def make(release):
        box = ld_box("/srv/driver")
        box.upper = box.bundle.directory / "upper"
        (box.upper / "srv").mkdir(parents=True)
        (box.upper / "probe").write_bytes(shop.probe.read_bytes())
        (box.upper / "probe").chmod(0o755)
        mount_srv(box, hook, srv, "driver")
        assert driver.exists()
        overlay(box, tree(release))
        return box

    return make


@pytest.mark.parametrize("release", RELEASES)
def test_ldconfig_in_the_container_works_and_keeps_the_directory(debian, release):
    """In its place, in front: the same list, the same files."""
    box = debian(release)
    look = f"ldconfig -p; {PROBE}"
    out = started(box.run(f"{look}; echo ==; ldconfig && {look}"))
    before, after = out.split("==\n")
    assert listed(before) == listed(after) and before.endswith(FOUND[:FOUND.index("libm")] + (
        after.splitlines()[-1] + "\n"))
    assert len(listed(before)) > 40
    lower = tree(release)
    assert (lower / CACHE).read_bytes() != (box.upper / CACHE).read_bytes()
    assert not (lower / CONF).exists()


@pytest.fixture(name="package", scope="module")
def package_fixture(shop, module_directory):
    """A package of a library, which makes dpkg run ldconfig."""
    top = module_directory
    shop.versioned(top / "deb/usr/local/lib", "libpackage.so.1")
    control = top / "deb/DEBIAN"
    control.mkdir()
    (control / "control").write_text(
        "Package: libpackage1\nVersion: 1\nArchitecture: amd64\nMaintainer: nobody <n@example.org>\n"
        "Description: a library\n", encoding="ascii")
    (control / "triggers").write_text("activate-noawait ldconfig\n", encoding="ascii")
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", top / "deb", top / "package.deb"],
                   check=True, stdout=subprocess.DEVNULL)
    return top / "package.deb"


@pytest.mark.parametrize("release", RELEASES)
def test_a_package_installed_in_the_container_keeps_the_directory(debian, package, driver, release):
    for name in driver.glob("libz.so*"):  # which dpkg itself needs
        name.unlink()
    box = debian(release)
    box.host.run(["cp", package, box.rootfs / "package.deb"])
    for capability in ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER"):
        box.add_capability(capability)
    result = box.run("dpkg --install /package.deb >/tmp/said 2>&1 || { cat /tmp/said >&2; exit 1; };"
                     " grep -o 'Processing triggers for libc-bin' /tmp/said;"
                     " /probe libpackage.so.1 libgpu.so.1")
    assert started(result) == (
        "Processing triggers for libc-bin\nlibpackage.so.1 /usr/local/lib/libpackage.so.1\n"
        "libgpu.so.1 /srv/driver/libgpu.so.1\n")


@pytest.mark.parametrize("engine, readonly", zip(PLAIN, [False, True, True, False]), ids=str)
def test_a_second_run_changes_nothing(srv_box, scratch, engine, readonly):
    """No file of /etc is another one, none is written, nothing is mounted on top."""
    box = srv_box(engine=engine)
    box.config["root"]["readonly"] = readonly
    entry = box._entry()  # pylint: disable=protected-access
    box.first += [entry, snapshot(scratch / "first")]
    box.last = [snapshot(scratch / "second")]
    assert started(box.run(PROBE)) == FOUND
    first = (scratch / "first").read_text()
    assert "/etc/ld.so.cache" in first if readonly else "./ld.so.conf.d/00-" in first
    assert (scratch / "second").read_text() == first


def test_in_the_next_container_of_the_same_image_nothing_changes_either(srv_box):
    box = srv_box()
    started(box.run())
    before = [(box.rootfs / name).stat() for name in (CACHE, CONF, "etc", "etc/ld.so.conf.d")]
    assert started(box.run(PROBE)) == FOUND
    after = [(box.rootfs / name).stat() for name in (CACHE, CONF, "etc", "etc/ld.so.conf.d")]
    assert [(s.st_ino, s.st_mtime_ns) for s in before] == [(s.st_ino, s.st_mtime_ns) for s in after]
