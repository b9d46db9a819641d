# SPDX-License-Identifier: Apache-2.0
"""docker gives GPUs by the vendors' own names of CDI devices, within the policy of the host, and the loader of the image
finds the driver's libraries."""

import shutil

import pytest

from harness import amd_container, cdi, cdi_gpus, debian_root, nvidia_container, proc_directories, rootfs
from harness.docker import Docker
from harness.driver_container import found
from harness.expect import started
from hosts.amd import SPX
from hosts.driver import PARTS

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures", "harness.ldcache_fixtures",
                  "harness.driver_fixtures"]

NVIDIA, AMD = "nvidia.com/gpu", "amd.com/gpu"
END = "echo end >&2"


def ended(result):
    """Nothing that a container printed is lost on its way through docker, which would look like no GPU."""
    assert result.code != 0 or result.err == "end\n", result
    return result


@pytest.fixture(name="docker")
def docker_fixture(nv_host, scratch):
    daemon = Docker(nv_host("v2"), scratch / "docker")
    daemon.add_image(debian_root.add_glibc(rootfs.make(scratch / "image")))
    yield daemon
    daemon.close()


@pytest.fixture(name="proc")
def proc_fixture(docker):
    """The device that is asked for first: with it a container has the directory that this kernel's driver would make."""
    [entry] = proc_directories.hooks(["/proc/driver", "/proc/driver/nvidia"])
    return cdi.write_hook(docker.specs, "proc", entry)


@pytest.fixture(name="nvidia")
def nvidia_fixture(docker, proc, machine, nv_hook):
    vendor = cdi_gpus.Vendor(NVIDIA, nv_hook, machine, machine.gpus, nvidia_container.given)
    script = f"{nvidia_container.PROBE} probe $(find /dev -name 'nvidia*' -type c | sort)"
    vendor.run = lambda *devices: ended(docker.run([proc, *devices], f"{script}; {END}"))
    return vendor


@pytest.fixture(name="amd")
def amd_fixture(docker, amd_machine, amd_hook):
    vendor = cdi_gpus.Vendor(AMD, amd_hook, amd_machine, SPX, amd_container.given)
    vendor.run = lambda *devices: ended(docker.run(devices, f"{amd_container.SHOW}; {END}"))
    return vendor


def tried(vendor, specs):
    """The names, and then the policy."""
    vendor.write(specs, f"--cdi={vendor.kind}")
    cdi_gpus.devices_bring_gpus(vendor, vendor.kind, vendor.run)
    cdi_gpus.all_of_them(vendor, vendor.kind, vendor.run)
    vendor.write(specs, f"--cdi={vendor.kind}", "--max-devices", "2")
    cdi_gpus.the_policy_holds(vendor, vendor.kind, vendor.run)


def test_nvidias_kind(nvidia, docker):
    tried(nvidia, docker.specs)


@amd_container.on_host(SPX)
def test_amds_kind(amd, docker):
    tried(amd, docker.specs)


def test_the_loader_finds_the_driver(docker, proc, installed, built, machine, scratch):
    """The specification calls ldcache-update too, which lies beside the executable. The program opens each library by
    its name alone."""
    directory = scratch / "hooks.d"
    directory.mkdir()
    for name in ("nvidia-devices", "ldcache-update"):
        shutil.copy(built / "hooks" / name / name, directory)
    machine.write(str(directory / "ldcache-update").lstrip("/"), "")  # --cdi looks for it on the host that is made up
    cdi.write(docker.specs, directory / "nvidia-devices", f"--cdi={NVIDIA}", "--capabilities", "all", sysroot=machine.path)
    names = installed.names(PARTS)
    out = started(docker.run([proc, f"{NVIDIA}=1"], f"/usr/local/nvidia/bin/nvidia-smi {' '.join(names)}"))
    assert found(out) == names
