# SPDX-License-Identifier: Apache-2.0
"""Fixtures for oci-gpu-hooks, the command."""

import shutil
from pathlib import Path

import pytest

from . import rootfs as root_filesystem
from .admin import Command, InstalledHost, RealHost
from .admin_worker import Machine, make_waiting_program
from .host import Host
from .podman import LIMITS


@pytest.fixture(name="oci_gpu_hooks", scope="session")
def oci_gpu_hooks_fixture(build_root):
    """The command itself."""
    return Path(build_root) / "admin/oci-gpu-hooks"


@pytest.fixture(name="installed_host")
def installed_host_fixture(tmp_path, built):
    """Gone with the test: the executables of a hundred of them would be gigabytes."""
    yield InstalledHost(tmp_path / "host", built)
    shutil.rmtree(tmp_path / "host")


@pytest.fixture(name="command")
def command_fixture(oci_gpu_hooks, installed_host):
    return Command(oci_gpu_hooks, installed_host)


@pytest.fixture(name="machine")
def machine_fixture(scratch):
    """With no processes but its own: a worker that runs elsewhere on the machine is an engine of the doctor's too."""
    host = Host("not-hybrid", own_processes=True)
    yield host
    host.close()


@pytest.fixture(name="files")
def files_fixture(scratch, built, machine):
    return RealHost(scratch / "host", built, machine)


@pytest.fixture(name="seen")
def seen_fixture(scratch, machine):
    """What a container sees that asks for all, or with other options of podman's; None if podman starts none."""
    rootfs = root_filesystem.make(scratch / "rootfs")
    (rootfs / "srv").mkdir()

    def seen(*options):
        for left in (rootfs / "srv").iterdir():  # what the container before had things mounted on
            left.rmdir()
        options = options or ("--annotation", "io.oci-gpu-hooks.mount-srv=all")
        done = machine.run(
            ["podman", "--root", scratch / "root", "--runroot", scratch / "run", "--tmpdir", scratch / "tmp",
             "--cgroup-manager", "cgroupfs", "--storage-driver", "vfs", "--events-backend", "file", "--runtime", "runc",
             "run", "--rm", "--network", "none", "--log-driver", "none", *LIMITS,
             *options, "--rootfs", rootfs, "ls", "/srv"], check=False)
        print(done.stderr)
        return sorted(done.stdout.split()) if done.returncode == 0 else None
    return seen


@pytest.fixture(name="waiting_program", scope="session")
def waiting_program_fixture(tmp_path_factory):
    return make_waiting_program(tmp_path_factory.mktemp("waiting") / "concourse")


@pytest.fixture(name="processes")
def processes_fixture(installed_host, oci_gpu_hooks):
    """A machine with the installed host, and processes beside it."""
    machine = Machine(installed_host, oci_gpu_hooks)
    yield machine
    machine.close()
