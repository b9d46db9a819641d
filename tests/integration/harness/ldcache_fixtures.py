# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of ldcache-update; a test file names this module in its `pytest_plugins`."""

import shutil
import tempfile
from pathlib import Path

import pytest

from harness import debian_root, engines
from harness.boxes import boxes
from harness.hooks_d import HookFile
from harness.ldcache import mount_srv
from harness.libraries import Workshop


@pytest.fixture(scope="session")
def shop():
    """Makes libraries."""
    with tempfile.TemporaryDirectory(prefix="libraries-") as directory:
        yield Workshop(Path(directory))


@pytest.fixture(scope="module")
def module_directory():
    """A directory for what all tests of a file only read."""
    with tempfile.TemporaryDirectory(prefix="ldcache-test-") as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
def ld_hook(built):
    return HookFile(built / "oci-hooks.d/90-ldcache-update.json",
                    built / "hooks/ldcache-update/ldcache-update")


@pytest.fixture
def ld_box(journal_host, ld_hook, scratch):
    """A function that makes a container with the hook, see harness.boxes. Its root is busybox's; see harness.debian_root
    for more."""
    with boxes(lambda _: journal_host, ld_hook, [], scratch, maps=False) as make:
        yield make


@pytest.fixture
def small_box(ld_box):
    """The same, with Debian's C library and a loader cache added to busybox."""
    def make(*args, **options):
        box = ld_box(*args, **options)
        debian_root.add_glibc(box.rootfs)
        if "engine" in options and options["engine"].mapped:
            box.map_ids(engines.MAP)
        return box

    return make


@pytest.fixture
def driver(srv, shop):
    """A small driver in a directory of the host: a library of its own, and one that images have too."""
    directory = srv / "driver"
    for soname in ("libgpu.so.1", "libz.so.1"):
        shop.versioned(directory, soname)
    return directory


@pytest.fixture
def srv_box(small_box, driver, hook, srv, shop):  # pylint: disable=unused-argument
    """The same as small_box, which also has that directory at /srv/driver, and the program `probe`."""
    def make(request="/srv/driver", *args, **options):
        box = small_box(request, *args, **options)
        shutil.copy(shop.probe, box.rootfs / "probe")
        mount_srv(box, hook, srv, "driver")
        return box

    return make
