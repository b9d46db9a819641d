# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of cdi-devices; a test file names this module in its `pytest_plugins`, after that of
nvidia-devices, of which it takes the host that containers run on."""

import json
import stat

import pytest

from harness.box import PREFIX
from harness.boxes import boxes, by_hand
from harness.hooks_d import HookFile
from hosts.sysroot import Sysroot

KEY = PREFIX + "cdi-devices"
MAJOR = 241  # no driver of the machine that runs the tests has it
ADDRESS = "0000:07:00.0"


class CdiHost(Sysroot):
    """What the hook takes for its host: specifications, and the files that they name."""

    def __init__(self, path):
        super().__init__(path)
        for directory in ("etc/cdi", "run/cdi", "var", "dev", "opt/vendor"):
            (path / directory).mkdir(parents=True)
        (path / "var/run").symlink_to("../run")
        self.proc_devices({})

    def spec(self, file, device_edits, directory="etc/cdi", **members):
        """A specification of devices with these edits, by their names."""
        document = {"cdiVersion": "0.5.0", "kind": "vendor.com/gpu",
                    "devices": [{"name": name, "containerEdits": edits} for name, edits in device_edits.items()],
                    **members}
        (self.path / directory / file).write_text(json.dumps(document), encoding="utf-8")

    def device(self, name, minor, mode=0o660, kind=stat.S_IFCHR):
        self.node(f"dev/{name}", MAJOR, minor, mode, kind)

    def file(self, name, text="of the host\n"):
        self.write(name, text)
        return self.path / name


@pytest.fixture
def cdi_gpu(cdi_host):
    """That host with one device, as a vendor describes a GPU: nodes, a link to one, a directory and a library."""
    for name, minor in (("gpu0", 0), ("dri/card1", 1), ("dri/renderD130", 130)):
        cdi_host.device(name, minor, 0o666)
    cdi_host.file("opt/vendor/libgpu.so.1")
    cdi_host.file("opt/vendor/state/file")
    link = ["nvidia-cdi-hook", "create-symlinks", "--link", f"../card1::/dev/dri/by-path/pci-{ADDRESS}-card"]
    cdi_host.spec("gpu.json", {"0": {
        "deviceNodes": [{"path": f"/dev/{name}"} for name in ("gpu0", "dri/card1", "dri/renderD130")],
        "mounts": [{"hostPath": "/opt/vendor/state", "containerPath": "/var/lib/vendor", "options": ["rbind", "ro"]},
                   {"hostPath": "/opt/vendor/libgpu.so.1", "containerPath": "/usr/lib/vendor/libgpu.so.1",
                    "options": ["bind", "ro"]}],
        "hooks": [{"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": link}]}})
    return cdi_host


@pytest.fixture(scope="session")
def cdi_hook(built):
    return HookFile(built / "oci-hooks.d/22-cdi-devices.json", built / "hooks/cdi-devices/cdi-devices")


@pytest.fixture
def cdi_host(scratch):
    return CdiHost(scratch / "machine")


@pytest.fixture
def cdi_box(nv_host, cdi_hook, cdi_host, scratch):
    """A function that makes a container with the hook, see harness.boxes."""
    with boxes(nv_host, cdi_hook, ["--sysroot", cdi_host.path, "--log-level", "info"], scratch) as make:
        yield make


@pytest.fixture
def cdi_by_hand(cdi_hook, cdi_host, scratch):
    return by_hand(cdi_hook, cdi_host.path, scratch)
