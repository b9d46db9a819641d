# SPDX-License-Identifier: Apache-2.0
"""Hosts with AMD GPUs. Every value is made up but for what tells the models apart."""

from dataclasses import dataclass

from .sysroot import Sysroot

# Linux gives no driver a major number over 511: no machine on which the hosts are made has one of these.
DRM, KFD = 1226, 1511
CONSOLE = "0000:c2:00.0"  # a graphics adapter of another maker, which computes nothing
GIB = 1 << 30

# What KFD says of a GPU, in its order; an old kernel (5.0) does not say those of NEW.
KEYS = """cpu_cores_count simd_count mem_banks_count caches_count io_links_count p2p_links_count cpu_core_id_base
    simd_id_base max_waves_per_simd lds_size_in_kb gds_size_in_kb num_gws wave_front_size array_count
    simd_arrays_per_engine cu_per_simd_array simd_per_cu max_slots_scratch_cu gfx_target_version vendor_id device_id
    location_id domain drm_render_minor hive_id num_sdma_engines num_sdma_xgmi_engines num_sdma_queues_per_engine
    num_cp_queues max_engine_clk_fcompute local_mem_size fw_version capability debug_prop sdma_fw_version unique_id
    num_xcc max_engine_clk_ccompute""".split()
NEW = """p2p_links_count num_gws gfx_target_version domain hive_id num_sdma_engines num_sdma_xgmi_engines
    num_sdma_queues_per_engine num_cp_queues debug_prop num_xcc""".split()


@dataclass(frozen=True)
class Gpu:
    """A GPU, or a partition of one: `address` is the GPU's, `device` what it is in sysfs."""

    address: str
    card: int
    render: int
    gfx: int = 110000
    unique: int = 0
    drm_unique: int = None  # what DRM says, if that is another
    partition: int = 0
    platform: str = ""  # the further partitions'
    simd: int = 168
    cores: int = 0  # of the CPU, if KFD takes both for one
    vram: int = 20 * GIB

    @property
    def device(self):
        return self.platform or self.address

    @property
    def location(self):
        domain, bus, rest = self.address.split(":")
        return int(domain, 16), int(bus, 16) << 8 | int(rest[:2], 16) << 3 | self.partition

    @property
    def uuid(self):
        return f"GPU-{self.unique:016X}"

    @property
    def by_path(self):
        return f"{'platform' if self.platform else 'pci'}-{self.device}"

    def nodes(self):
        """Those in /dev/dri, by name."""
        return {f"card{self.card}": self.card, f"renderD{self.render}": self.render}

    def links(self):
        """Those in /dev/dri/by-path, and where they lead."""
        return {f"{self.by_path}-card": f"../card{self.card}", f"{self.by_path}-render": f"../renderD{self.render}"}

    def properties(self, old=False):
        domain, location = self.location
        values = dict.fromkeys(KEYS, 1) | {
            "cpu_cores_count": self.cores, "simd_count": self.simd, "gfx_target_version": self.gfx, "vendor_id": 4098,
            "location_id": location, "domain": domain, "drm_render_minor": self.render, "unique_id": self.unique,
            "hive_id": 4660000000000000002, "local_mem_size": self.vram if old else 0}
        return "".join(f"{key} {values[key]}\n" for key in KEYS if not old or key not in NEW)


XT = Gpu("0000:03:00.0", 2, 129, unique=0x0BADC0DE12345678)  # Radeon RX 7900 XT
RAPHAEL = Gpu("0000:7a:00.0", 1, 128, 100306, simd=4, vram=GIB // 2)
PHOENIX = Gpu("0000:64:00.0", 1, 128, 110003, simd=24, vram=GIB // 2)
BOTH = [XT, RAPHAEL]  # by address; by minor and in KFD it is the other way round
# Two old ones, of which KFD says the same place, for lack of a domain.
OLD = [Gpu("0000:21:00.0", 0, 128, unique=13897545500111932171, simd=256),
       Gpu("0001:21:00.0", 1, 129, unique=13897545500111932172, simd=256)]
# In KFD's order, which is that of minors; neither addresses nor cards are.
MI210 = [Gpu(f"0000:{bus}:00.0", (n ^ 1) + 1, 128 + n, 90010, 0x1000 + n, simd=416)
         for n, bus in enumerate(("63", "43", "03", "26", "e3", "c3", "83", "a3"))]
SPX = [Gpu(f"0000:{bus}:00.0", n * 8 + 1, 128 + n * 8, 90402, 0xF00DFACE00000040 + n, simd=1216)
       for n, bus in enumerate(("0c", "22", "38", "5c", "9f", "af", "bf", "df"))]


def _cpx():
    """Eight GPUs in two domains, by the same numbers; each has eight partitions, and one that is none."""
    for n in range(8):
        for k in range(9):
            yield Gpu(f"{n // 4:04x}:{27 + n % 4 * 16:02x}:00.0", 1 + 9 * n + k, 128 + 9 * n + k, 90402,
                      0x7E57000000000A00 + 16 * n + k, 0x7E57000000000A00 + 16 * n, k, f"amdgpu_xcp_{8 * n + k - 1}"
                      if k else "", 152, vram=24 * GIB)


CPX = [gpu for gpu in _cpx() if gpu.partition != 8]
CPX_BLANKS = [gpu for gpu in _cpx() if gpu.partition == 8]
# An APU of three partitions, by a driver that has another name for them; all say one place, as some kernels have it.
TPX = [Gpu("0000:01:00.0", 1 + k, 128 + k, 90402, 77, platform=f"amdgpu_xcp.{k - 1}" if k else "", simd=304)
       for k in range(8)]


class AmdHost(Sysroot):
    """What the driver shows, and a graphics adapter of another that is card0. `blanks` have nodes and are not in KFD,
    which has `gpus` in order of their minors. `old`: by a kernel that says less of each. `drm` is the number of all
    nodes in /dev/dri."""

    def __init__(self, path, gpus=tuple(BOTH), blanks=(), old=False, drm=DRM):
        super().__init__(path)
        self.gpus, self._drm = list(gpus), drm
        self.proc_devices({"drm": drm, "kfd": KFD})
        self.write("sys/devices/virtual/kfd/kfd/dev", f"{KFD}:0\n")
        self.node("dev/kfd", KFD, 0, 0o660)
        self.link("sys/class/kfd/kfd", "../../devices/virtual/kfd/kfd")
        self._kfd_node(0, 0, "cpu_cores_count 48\nsimd_count 0\nmem_banks_count 1\ndrm_render_minor 0\n")
        for number, gpu in enumerate(sorted(self.gpus, key=lambda gpu: gpu.render), 1):
            self._kfd_node(number, 40000 + number, gpu.properties(old))
            memory = f"heap_type 1\nsize_in_bytes {gpu.vram}\nflags 0\n"
            self.write(f"{self.topology(gpu)}/mem_banks/0/properties", memory)
        for gpu in [*self.gpus, *blanks]:
            unique = gpu.unique if gpu.drm_unique is None else gpu.drm_unique
            self.add_device(gpu.device, "amdgpu", unique_id=f"{unique:016x}", mem_info_vram_total=gpu.vram)
            self._nodes(gpu.device, gpu.nodes())
        self.write("sys/class/drm/version", "drm 1.1.0 20060810\n")
        self.write("sys/class/drm/card1-DP-1/status", "connected\n")
        if 0 not in [gpu.card for gpu in self.gpus]:
            self.add_device(CONSOLE, "ast")
            self._nodes(CONSOLE, {"card0": 0})

    def remove_kfd(self):
        """As without CONFIG_HSA_AMD, but for what /proc/devices says."""
        self.remove("sys/class/kfd/kfd")
        self.remove("sys/devices/virtual/kfd")

    def topology(self, gpu):
        """The GPU's directory in KFD, relative to the root."""
        return self.directory_in_kfd(self.gpus, gpu)

    @staticmethod
    def directory_in_kfd(gpus, gpu):
        number = sorted(each.render for each in gpus).index(gpu.render) + 1
        return f"sys/devices/virtual/kfd/kfd/topology/nodes/{number}"

    def _kfd_node(self, number, gpu_id, properties):
        directory = f"sys/devices/virtual/kfd/kfd/topology/nodes/{number}"
        self.write(f"{directory}/gpu_id", f"{gpu_id}\n")
        self.write(f"{directory}/properties", properties)

    def _nodes(self, device, nodes):
        for name, minor in nodes.items():
            self.add_node("drm", device, name, self._drm, minor, "dri")
