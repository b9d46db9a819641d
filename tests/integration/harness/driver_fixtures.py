# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the driver's files; a test file names this module in its `pytest_plugins`, after
harness.nvidia_fixtures and harness.ldcache_fixtures."""

import functools
import os

import pytest

from harness import driver_images, engines
from harness.nvidia_container import CAPABILITIES
from harness.podman import PodmanBox
from hosts.driver import LIB64, Driver, Stubs


@pytest.fixture(name="stubs", scope="session")
def stubs_fixture(tmp_path_factory):
    directory = tmp_path_factory.mktemp("stubs")
    # A container's root need not be the host's, so others must be able to read what is linked from here.
    directory.chmod(0o755)
    return Stubs(directory)


@pytest.fixture(name="driver_of", scope="session")
def driver_of_fixture(stubs, tmp_path_factory):
    """A function that gives the whole driver in a layout; not to be changed."""
    @functools.cache
    def make(layout):
        directory = tmp_path_factory.mktemp("driver").resolve()
        directory.chmod(0o755)  # as a host's root is; copies get the mode, too
        (directory / "etc").mkdir()
        return Driver(directory, stubs, layout)

    return make


@pytest.fixture
def installed(request, machine, driver_of):
    """The whole driver on the host: in a layout that a test names, or in /usr/lib64."""
    return driver_of(getattr(request, "param", LIB64)).copied(machine.path)


@pytest.fixture
def files_box(nv_box, ld_hook):
    """A function that makes a container of an image of harness.driver_images, with a GPU: files_box(capabilities,
    *options of the hook, image=…, cache=…, and what nv_box takes). With `cache`, the loader's is renewed by
    ldcache-update, as when both hooks are installed."""
    def make(capabilities=None, *args, image=driver_images.small, cache=True, engine=engines.RUNTIMES[0],
             **options):
        box = nv_box(options.pop("request", "1"), *args, engine=engine, **options)
        image(box)
        if isinstance(box, PodmanBox) and engine.mapped:
            for path in [box.rootfs, *box.rootfs.rglob("*")]:  # as podman unpacks an image
                os.lchown(path, engines.ROOT, engines.ROOT)
        if capabilities is not None:
            box.annotations[CAPABILITIES] = capabilities
        entry = ld_hook.entry(["--log-level", "info"])
        if cache and isinstance(box, PodmanBox):
            ld_hook.write(box.runtime.hooks / "90-ldcache-update.json", entry, "createRuntime")
        elif cache:
            box.last.append(entry)
        return box

    return make
