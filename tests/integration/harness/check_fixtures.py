# SPDX-License-Identifier: Apache-2.0
"""Fixtures for oci-gpu-hooks check."""

import subprocess

import pytest
from hosts import amd, nvidia

from .check import Checked

pytest_plugins = ["harness.admin_fixtures"]


@pytest.fixture(name="checked")
def checked_fixture(command, installed_host, tmp_path):
    for other in (nvidia.NvidiaHost(tmp_path / "nvidia", nvidia.TWO, numbers=nvidia.UNUSED),
                  amd.AmdHost(tmp_path / "amd")):
        numbers = (other.path / "proc/devices").read_text("utf-8")
        subprocess.run(["cp", "-a", f"{other}/.", installed_host.path], check=True)
        if "kfd" in numbers:
            lines = {"nvidia": 1195, "nvidiactl": 1195, "nvidia-modeset": 1195, "drm": amd.DRM, "nvidia-uvm": 1510,
                     "nvidia-caps": 1511, "kfd": amd.KFD}
            installed_host.proc_devices(lines)
    for driver, gpus in (("nvidia", nvidia.TWO), ("amdgpu", amd.BOTH)):
        for gpu in gpus:
            installed_host.bind(driver, gpu.address)
    return Checked(installed_host, command)
