# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a host, its source directory, and containers on it. The environment variable BUILD_ROOT
names the build directory whose hook and hooks.d file are tested."""

import errno
import itertools
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from harness.box import Box
from harness.boxes import opened_host
from harness.bundle import Bundle
from harness.hooks_d import HookFile
from harness.host import LIMIT_S
from harness.runtime import Runc
from harness.source import Source
from harness.watch import Watch


@pytest.fixture(scope="session")
def build_root():
    return Path(os.environ["BUILD_ROOT"]).resolve()


@pytest.fixture(scope="session")
def built(build_root):
    """What is tested of the build directory, in a directory of the same layout that every user can enter: the
    build may lie below one that is root's alone, and hooks also run as somebody else."""
    directory = Path(tempfile.mkdtemp(prefix="hooks-built-"))
    directory.chmod(0o755)
    umask = os.umask(0o022)
    for source in [*(build_root / "hooks").glob("*/*"), *(build_root / "oci-hooks.d").glob("*.json")]:
        if source.is_file():
            place = directory / source.relative_to(build_root)
            place.parent.mkdir(parents=True, exist_ok=True)
            provide(source, place)
    os.umask(umask)
    yield directory
    shutil.rmtree(directory)


def provide(source, place):
    """Executables are large: a link if that can be, else a copy."""
    if source.stat().st_mode & 0o5 == 0o5:
        try:
            os.link(source, place)
            return
        except OSError:
            pass  # another filesystem
    shutil.copy(source, place)
    place.chmod(0o755)


@pytest.fixture(scope="session")
def executable(built):
    return built / "hooks/mount-srv/mount-srv"


@pytest.fixture(scope="session")
def hook(built, executable):
    return HookFile(built / "oci-hooks.d/10-mount-srv.json", executable)


def remove(directory):
    """What podman leaves to a process of its own may still write there for a moment."""
    deadline = time.monotonic() + LIMIT_S
    while directory.exists():
        try:
            shutil.rmtree(directory)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.ENOENT) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@pytest.fixture
def scratch():
    """A directory for one test. The real host must have nothing of it mounted afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="test-"))
    # A container's root need not be the host's, so others must be able to walk through it.
    directory.chmod(0o755)
    yield directory
    table = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    assert directory.name not in table, "left mounted on the real host"
    remove(directory)


@pytest.fixture
def first_process_unseen(tmp_path):
    """For tests of who uses a GPU: on some machines nobody may see what the first process has open, so that this is not
    known. For them it has no threads."""
    hidden = os.path.lexists("/proc/1/fd/0") and not os.path.exists("/proc/1/fd/0")
    if hidden:
        subprocess.run(["mount", "--bind", tmp_path, "/proc/1/task"], check=True)
    yield
    if hidden:
        subprocess.run(["umount", "/proc/1/task"], check=True)


@pytest.fixture
def host(scratch):  # pylint: disable=unused-argument
    """With the cgroups of this machine: mount-srv has nothing to do with any."""
    with opened_host("as-found") as host:
        yield host


@pytest.fixture
def watch():
    """A function that watches files from now on: watch(*paths) gives a function, which gives those
    that anyone has opened or read since."""
    watched = []

    def begin(*paths):
        watched.append(Watch(paths))
        return watched[-1].opened

    yield begin
    for each in watched:
        each.close()


@pytest.fixture
def journal_host(scratch):
    """A host on which every engine runs, and which keeps what hooks say to syslog."""
    with opened_host("not-hybrid", scratch) as host:
        yield host


@pytest.fixture
def engine_box(journal_host, srv, hook, scratch):
    """A function that makes a container by one of harness.engines: engine_box(engine, request,
    *options of the hook)."""
    numbers, runtimes = itertools.count(), {}

    def make(engine, request=None, *args):
        number = next(numbers)
        runtime = engine.open(scratch / f"runtime-{number}")
        box = engine.box(journal_host, runtime, Bundle(scratch / f"box-{number}"), hook,
                         ["--source-dir", srv, *args], request)
        runtimes[number] = runtime
        return box

    yield make
    for runtime in runtimes.values():
        runtime.clean(journal_host)


@pytest.fixture
def runtime(scratch):
    return Runc(scratch / "runtime")


@pytest.fixture
def srv(scratch):
    return Source(scratch / "source")


@pytest.fixture
def new_box(host, runtime, srv, hook, scratch):
    """A function that makes a container: new_box(request, *options of the hook)."""
    numbers = itertools.count()

    def make(request=None, *args):
        bundle = Bundle(scratch / f"box-{next(numbers)}")
        return Box(host, runtime, bundle, hook, ["--source-dir", srv, *args], request)

    yield make
    runtime.clean(host)
