# SPDX-License-Identifier: Apache-2.0
"""Hosts with AMD GPUs, made up, as the amdgpu driver and udev show them."""

import dataclasses
import os
import pathlib

DRM_MAJOR, KFD_MAJOR = 1226, 1235  # above 511, so that no driver can have them
BUSES = range(0x1b, 0x9b, 0x10)
PARTITIONS = 8  # of each GPU; as many render minors are set aside for it either way
# What KFD says of a GPU in some forty lines, of which few matter here.
PROPERTIES = """cpu_cores_count 0\nsimd_count {simds}\nmem_banks_count 1\n{filler}gfx_target_version 90402
vendor_id 4098\ndevice_id 29857\nlocation_id {location}\ndomain 0\ndrm_render_minor {render}\nhive_id 4660000000000001
{more}unique_id {unique_id}\nnum_xcc 1\nmax_engine_clk_ccompute 2100\n"""


@dataclasses.dataclass
class Gpu:
    """One, or a partition of one."""

    bus: int
    partition: int
    number: int  # of all that there are

    @property
    def address(self):
        return f"0000:{self.bus:02x}:00.0"

    @property
    def render(self):
        return 128 + PARTITIONS * BUSES.index(self.bus) + self.partition

    @property
    def card(self):
        return self.number + 1  # the first one is the console's

    @property
    def xcp(self):
        """The number of its platform device, which the first partition of a GPU has none of."""
        return (PARTITIONS - 1) * BUSES.index(self.bus) + self.partition - 1

    @property
    def device(self):
        """Below /sys/devices."""
        return f"platform/amdgpu_xcp_{self.xcp}" if self.partition else f"pci0000:00/{self.address}"

    @property
    def by_path(self):
        return f"platform-amdgpu_xcp_{self.xcp}" if self.partition else f"pci-{self.address}"

    def properties(self):
        filler = "".join(f"caches_or_links_{number} {number}\n" for number in range(12))
        return PROPERTIES.format(
            simds=152, location=self.bus << 8 | self.partition, render=self.render,
            unique_id=9103745171752749569 + self.number, filler=filler, more=filler)


class Host:
    """What the driver and udev show of eight GPUs."""

    def __init__(self, root, partitions):
        self.root = root
        self.gpus = [Gpu(bus, partition, number * partitions + partition)
                     for number, bus in enumerate(BUSES) for partition in range(partitions)]
        kfd = root / "sys/devices/virtual/kfd/kfd"
        self._write(kfd / "dev", f"{KFD_MAJOR}:0\n")
        for number in range(2):
            self._write(kfd / f"topology/nodes/{number}/properties", "cpu_cores_count 48\nsimd_count 0\n")
        for gpu in self.gpus:
            self._write(kfd / f"topology/nodes/{2 + gpu.number}/properties", gpu.properties())
        self._write(root / "proc/devices", f"Character devices:\n  1 mem\n{DRM_MAJOR} drm\n{KFD_MAJOR} kfd\n")
        for folder in ("sys/class/kfd", "sys/class/drm", "dev/dri"):
            (root / folder).mkdir(parents=True)
        (root / "sys/class/kfd/kfd").symlink_to("../../devices/virtual/kfd/kfd")
        os.mknod(root / "dev/kfd", 0o020666, os.makedev(KFD_MAJOR, 0))
        for gpu in self.gpus:
            self._add_node(gpu, f"card{gpu.card}", gpu.card)
            self._add_node(gpu, f"renderD{gpu.render}", gpu.render)

    @staticmethod
    def _write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _add_node(self, gpu, name, minor):
        folder = self.root / "sys/devices" / gpu.device / "drm" / name
        self._write(folder / "dev", f"{DRM_MAJOR}:{minor}\n")
        (folder / "device").symlink_to(f"../../../{pathlib.PurePath(gpu.device).name}")
        (self.root / "sys/class/drm" / name).symlink_to(f"../../devices/{gpu.device}/drm/{name}")
        os.mknod(self.root / "dev/dri" / name, 0o020666, os.makedev(DRM_MAJOR, minor))
