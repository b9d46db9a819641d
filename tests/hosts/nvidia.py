# SPDX-License-Identifier: Apache-2.0
"""Hosts with NVIDIA GPUs. Every value is made up; the numbers of devices are the driver's own, or UNUSED ones."""

from dataclasses import dataclass

from . import elf
from .sysroot import Sysroot

MAJOR, DRM, CTL, MODESET = 195, 226, 255, 254
UVM, CAPS, FS, GDR, IMEX, VERBS = 510, 511, 509, 508, 506, 231
VERSION = "555.42.07"
# Linux gives no driver a major number over 511: nothing answers for these, whatever machine the hosts are made on.
UNUSED = {MAJOR: 1195, UVM: 1510, CAPS: 1511, DRM: 1226}

CLOSED = ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  555.42.07  Mon Jan  5 10:11:12 UTC 2026\n"
          "GCC version:  gcc version 12.9.1 (Example 12.9.1-1) \n")
OPEN = ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  601.10.03  Release Build  (builder@example)"
        "  Tue Feb  3 04:05:06 UTC 2026\nGCC version:  gcc version 12.9.1 (Example 12.9.1-1)\n")
PARAMS = "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileMode: 438\nRmMsg: \"\"\n"
REGISTRY = 'Binary: ""\n'


@dataclass(frozen=True)
class Gpu:
    """A GPU; `minor` is that of /dev/nvidiaN, `card` and `render` are the minors of its nodes in /dev/dri."""

    address: str
    minor: int
    card: int
    render: int

    @property
    def uuid(self):
        return f"GPU-5a1c0de0-1111-4222-8333-0123456789{self.minor:02x}"

    @property
    def node(self):
        return f"/dev/nvidia{self.minor}"

    def information(self, excluded="No"):
        return ("Model: \t\t NVIDIA Example 48\nIRQ:   \t\t 91\n"
                f"GPU UUID: \t {self.uuid}\nVideo BIOS: \t 91.02.17.00.0e\nBus Type: \t PCIe\n"
                f"Bus Location: \t {self.address}\nDevice Minor: \t {self.minor}\n"
                f"GPU Firmware: \t 555.42.07\nGPU Excluded:\t {excluded}\n")


ONE = [Gpu("0000:5e:00.0", 0, 1, 128)]
# In PCI order; neither minors nor cards are.
EIGHT = [Gpu(f"0000:{bus}:00.0", minor, card, render) for bus, minor, card, render in (
    ("07", 5, 3, 130), ("0f", 2, 1, 128), ("47", 7, 8, 135), ("4e", 0, 2, 129),
    ("87", 3, 5, 131), ("90", 6, 4, 134), ("b7", 1, 7, 132), ("bd", 4, 6, 133))]
FOUR = [Gpu(f"0000:{bus}:00.0", minor, 1 + number, 128 + number)
        for number, (bus, minor) in enumerate((("18", 2), ("3b", 3), ("86", 0), ("af", 1)))]
TWO = [Gpu("0000:18:00.0", 1, 1, 128), Gpu("0000:3b:00.0", 0, 2, 129)]


def gi_minor(gpu, gpu_instance):
    """Of the node in /dev/nvidia-caps for a GPU instance; those of its compute instances follow."""
    return 3 + 135 * gpu.minor + 9 * gpu_instance


class NvidiaHost(Sysroot):
    """What the driver shows, and the libraries without which capabilities cannot work; hosts.driver has the rest of the
    driver's files. `numbers` has what is instead of the driver's major numbers."""

    def __init__(self, path, gpus, version=CLOSED, numbers=None):
        super().__init__(path)
        self.gpus, self._devices, self._numbers = list(gpus), {}, numbers or {}
        self.write("proc/driver/nvidia/version", version)
        self.install(VERSION)
        self.write("proc/driver/nvidia/params", PARAMS)
        self.write("proc/driver/nvidia/registry", REGISTRY)
        (self.path / "proc/driver/nvidia/gpus").mkdir()
        self.devices(**{"nvidia": MAJOR, "nvidiactl": MAJOR, "nvidia-modeset": MAJOR, "drm": DRM,
                        "nvidia-uvm": UVM, "nvidia-caps": CAPS})
        for minor, name in ((CTL, "nvidiactl"), (MODESET, "nvidia-modeset")):
            self.node(f"dev/{name}", self._number(MAJOR), minor)
        for minor, name in enumerate(("nvidia-uvm", "nvidia-uvm-tools")):
            self.node(f"dev/{name}", self._number(UVM), minor)
        for gpu in self.gpus:
            self._add(gpu)

    def _number(self, major):
        return self._numbers.get(major, major)

    def install(self, version):
        """The libraries of a driver's version, beside those that are there."""
        directory = self.path / "usr/lib64"
        directory.mkdir(parents=True, exist_ok=True)
        for name in ("libcuda", "libnvidia-ml", "libnvidia-encode", "libGLX_nvidia", "libnvidia-ngx"):
            (directory / f"{name}.so.{version}").write_bytes(elf.library(f"{name}.so.1"))

    def devices(self, **more):
        """Adds lines to /proc/devices; a module without a number is not loaded any more."""
        self._devices.update(more)
        self.proc_devices({name: self._number(major) for name, major in self._devices.items() if major})

    def _add(self, gpu):
        self.write(f"proc/driver/nvidia/gpus/{gpu.address}/information", gpu.information())
        self.node(f"dev/nvidia{gpu.minor}", self._number(MAJOR), gpu.minor)
        self.add_device(gpu.address, "nvidia", vendor="0x10de", **{"class": "0x030200"})
        for name, minor in ((f"card{gpu.card}", gpu.card), (f"renderD{gpu.render}", gpu.render)):
            self.add_node("drm", gpu.address, name, self._number(DRM), minor, "dri")

    def information(self, index, text):
        """What the driver says of a GPU from now on; None: nothing."""
        path = self.path / f"proc/driver/nvidia/gpus/{self.gpus[index].address}/information"
        path.unlink()
        if text is not None:
            path.write_text(text, encoding="utf-8")

    def exclude(self, index):
        self.information(index, self.gpus[index].information("Yes"))

    def unload(self):
        """No driver, as before it is loaded: its directory in /proc is gone, and it has no nodes."""
        self.remove("proc/driver")
        self.devices(**{name: None for name in self._devices})
        for path in (self.path / "dev").glob("nvidia*"):
            path.unlink()

    def old(self):
        """Until driver 550.40 the node's name in /proc/devices was another."""
        self.devices(nvidia=None, nvidiactl=None, **{"nvidia-frontend": MAJOR})

    def add_instance(self, index, gpu_instance, compute_instance):
        """A part of a GPU (MIG). Its nodes are not in /dev: a driver makes none by itself."""
        gpu = self.gpus[index]
        minor = gi_minor(gpu, gpu_instance)
        directory = f"proc/driver/nvidia/capabilities/gpu{gpu.minor}/mig/gi{gpu_instance}"
        self.cap(f"{directory}/access", minor)
        self.cap(f"{directory}/ci{compute_instance}/access", minor + 1 + compute_instance)
        self.mig_minors()

    def cap(self, name, minor, mode=0o444):
        self.write(name, f"DeviceFileMinor: {minor}\nDeviceFileMode: {mode}\nDeviceFileModify: 1\n")

    def mig_minors(self):
        """All that GPUs could be divided into, and the rights to do so and to see it: as the driver lists them, whether
        or not there is any of it."""
        lines = ["config 1", "monitor 2"]
        for gpu in self.gpus:
            for outer in range(15):
                minor, name = gi_minor(gpu, outer), f"gpu{gpu.minor}/gi{outer}"
                lines += [f"{name}/access {minor}", *(f"{name}/ci{n}/access {minor + 1 + n}" for n in range(8))]
        self.write("proc/driver/nvidia-caps/mig-minors", "\n".join([*lines, ""]))
        self.cap("proc/driver/nvidia/capabilities/mig/config", 1, 0o400)
        self.cap("proc/driver/nvidia/capabilities/mig/monitor", 2)

    def add_imex(self, channels):
        """As a driver in an NVLink domain: so many channels, of which /dev has none."""
        self.devices(**{"nvidia-caps-imex-channels": IMEX})
        self.remove("proc/driver/nvidia/params")
        self.write("proc/driver/nvidia/params", f"{PARAMS}ImexChannelCount: {channels}\n")

    def add_others(self):
        """GPUDirect Storage, GDRCopy and InfiniBand."""
        self.devices(gdrdrv=GDR)
        for number in range(2):
            self.node(f"dev/nvidia-fs{number}", FS, number)
            self.write(f"sys/class/nvidia-fs-class/nvidia-fs{number}/dev", f"{FS}:{number}\n")
            self.node(f"dev/infiniband/uverbs{number}", VERBS, 192 + number)
            self.write(f"sys/class/infiniband_verbs/uverbs{number}/dev", f"{VERBS}:{192 + number}\n")
        self.node("dev/gdrdrv", GDR, 0)
        self.node("dev/infiniband/rdma_cm", 10, 58)
        self.write("sys/class/misc/rdma_cm/dev", "10:58\n")
