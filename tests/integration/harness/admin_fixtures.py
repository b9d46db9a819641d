# SPDX-License-Identifier: Apache-2.0
"""Fixtures for oci-gpu-hooks, the command."""

import shutil
from pathlib import Path

import pytest

from .admin import Command, InstalledHost


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
