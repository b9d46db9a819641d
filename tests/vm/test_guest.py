# SPDX-License-Identifier: Apache-2.0
"""The scripts of guest/*/, each a test that runs on a machine with another kernel.

The directory says how that machine is booted. All tests of a directory run in one boot, one after the other.
"""

import os
import subprocess
from pathlib import Path

import pytest

from hosts.amd import AmdHost
from hosts.amd import Gpu as AmdGpu
from hosts.nvidia import DRM, TWO, NvidiaHost
from machine import Boot, Machine, write_payload

HERE = Path(__file__).resolve().parent
GUEST = HERE / "guest"
# Another release of Debian's than this machine's, see make_release.
RELEASE = os.environ.get("VM_RELEASE")
IMAGES = HERE.parents[1] / (f"build/vm-{RELEASE}" if RELEASE else "build/vm")
BOOTS = {
    # Of the two bochs-displays see guest/stand_in.sh.
    "apparmor": Boot("security=apparmor apparmor=1 drm_kms_helper.fbdev_emulation=0",
                     devices=["virtio-gpu-pci", "bochs-display", "bochs-display"]),
    "selinux": Boot("security=selinux selinux=1 enforcing=0"),
}
# What takes more than this machine's release has.
if RELEASE:
    BOOTS["release"] = Boot("security=apparmor apparmor=1")
# The machine's two render nodes, in the order in which guest/amd.sh loads their drivers.
AMD = [AmdGpu("0000:0d:00.0", 0, 128), AmdGpu("0000:10:00.0", 1, 129)]
# What the tests of a boot share; it tells why they cannot run.
PREPARE = "prepare"
LIMIT_S = 900


def cases():
    for boot in BOOTS:
        for name in [PREPARE, *sorted(path.name for path in (GUEST / boot).iterdir())]:
            yield pytest.param(boot, name, id=f"{boot}-{name}")


def selected(items):
    """The scripts that have to run in each boot: those of the tests that pytest will run."""
    boots = {}
    for item in items:
        boot, name = item.callspec.params["boot"], item.callspec.params["name"]
        boots.setdefault(boot, []).extend([] if name == PREPARE else [f"{boot}/{name}"])
    return boots


@pytest.fixture(scope="module")
def image():
    subprocess.run([HERE / "make_release", RELEASE] if RELEASE else [HERE / "make_root", IMAGES], check=True)
    return IMAGES / "root.img"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What `meson install` puts onto a host."""
    directory = tmp_path_factory.mktemp("installed")
    subprocess.run(["meson", "install", "-C", os.environ["BUILD_ROOT"], "--no-rebuild", "--quiet",
                    "--destdir", directory], check=True)
    return directory


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    """Hosts with GPUs, for a machine that has no Python to make them: all but what its own kernel knows, see
    guest/amd.sh. They have no nodes, as before udev makes any."""
    directory = tmp_path_factory.mktemp("hosts")
    for host in (NvidiaHost(directory / "nvidia", TWO), AmdHost(directory / "amd", AMD, drm=DRM)):
        host.remove("dev")
    return directory


@pytest.fixture(scope="module")
def machines(request, image, installed, hosts, tmp_path_factory):  # pylint: disable=too-many-arguments
    machines = {}
    try:
        for boot, tests in selected(request.session.items).items():
            directory = tmp_path_factory.mktemp(boot)
            payload = directory / "payload.tar"
            write_payload(payload, {"guest": GUEST, "installed": installed, "hosts": hosts}, tests)
            machines[boot] = Machine(directory, image, payload, BOOTS[boot], LIMIT_S)
        yield machines
    finally:
        for machine in machines.values():
            machine.close()


@pytest.mark.parametrize("boot, name", cases())
def test_guest(machines, boot, name):
    status, output = machines[boot].result(name)
    print(output)
    assert status == "0", f"'{name}' ended with {status}"
