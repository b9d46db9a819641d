// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/pci_address.h"
#include "support/temp_directory.h"

namespace ogh::test {

/** What KFD and DRM say of a GPU, or of a partition of one: a Radeon RX 7900 XT, unless told otherwise. */
struct AmdGpu {
    unsigned node = 1;
    std::string address = "0000:0d:00.0"; ///< of the GPU
    unsigned card = 1;
    unsigned render_minor = 129;
    unsigned partition = 0;
    std::string platform_device = {}; ///< of a further partition: "amdgpu_xcp_0"
    unsigned gfx = 110000;            ///< 0: an old kernel, which knows neither gfx versions nor PCI domains
    unsigned simd_count = 168;
    std::uint64_t unique_id = 0x0BADC0DE12345678;
    std::uint64_t drm_unique_id = 0x0BADC0DE12345678;
    unsigned cpu_cores = 0;
    std::uint64_t memory = std::uint64_t{20464} << 20U; ///< bytes

    [[nodiscard]] std::string device() const { return platform_device.empty() ? address : platform_device; }

    [[nodiscard]] std::uint64_t location() const
    {
        const PciAddress at = parse_pci_address(address).value();
        return std::uint64_t{at.bus} << 8U | std::uint64_t{at.device} << 3U | at.function | partition;
    }

    /** As the file has them; most values are filler. */
    [[nodiscard]] std::string properties() const
    {
        const bool is_old = gfx == 0;
        std::string text;
        const auto add = [&](const char *key, std::uint64_t value, bool is_in_old = true) {
            if (!is_old || is_in_old)
                text += std::string(key) + " " + std::to_string(value) + "\n";
        };
        add("cpu_cores_count", cpu_cores);
        add("simd_count", simd_count);
        add("mem_banks_count", 1);
        add("caches_count", 200);
        add("io_links_count", 1);
        add("p2p_links_count", 0, false);
        add("simd_id_base", 2147480100);
        add("wave_front_size", 32);
        add("max_slots_scratch_cu", 32);
        add("gfx_target_version", gfx, false);
        add("vendor_id", 4098);
        add("location_id", location());
        add("domain", parse_pci_address(address).value().domain, false);
        add("drm_render_minor", render_minor);
        add("hive_id", 0, false);
        add("local_mem_size", is_old ? memory : 0);
        add("fw_version", 2100);
        add("unique_id", unique_id);
        add("num_xcc", 1, false);
        add("max_engine_clk_ccompute", 4200);
        return text;
    }

    /** The graphics of a desktop CPU. */
    static AmdGpu raphael(unsigned node, unsigned card, unsigned render_minor)
    {
        AmdGpu gpu{node, "0000:7a:00.0", card, render_minor};
        gpu.gfx = 100306;
        gpu.simd_count = 4;
        gpu.unique_id = gpu.drm_unique_id = 0;
        gpu.memory = std::uint64_t{512} << 20U;
        return gpu;
    }

    /** A partition of an MI300X in CPX mode. */
    static AmdGpu mi300x(unsigned node, const std::string &address, unsigned partition, unsigned minor)
    {
        AmdGpu gpu{node, address, minor - 127, minor, partition};
        gpu.gfx = 90402;
        gpu.simd_count = 152;
        gpu.unique_id = 0x7E57000000000A00 + node;
        gpu.drm_unique_id = 0xF00DFACE00000000 + minor - partition;
        gpu.memory = std::uint64_t{24560} << 20U;
        return gpu;
    }

    /** Eight with eight partitions each, in two PCI domains with the same buses; between them minors are left out. */
    static std::vector<AmdGpu> cpx()
    {
        const std::vector<std::string> addresses{"0000:1b:00.0", "0000:3d:00.0", "0000:4e:00.0",
                                                 "0000:5f:00.0", "0001:1b:00.0", "0001:3d:00.0",
                                                 "0001:4e:00.0", "0001:5f:00.0"};
        std::vector<AmdGpu> gpus;
        for (unsigned i = 0; i < 64; ++i) {
            const unsigned minor = 128 + i + (i < 32 ? 0 : 16);
            gpus.push_back(mi300x(2 + i, addresses[i / 8], i % 8, minor));
            if (i % 8 != 0)
                gpus.back().platform_device = "amdgpu_xcp_" + std::to_string(i - i / 8 - 1);
        }
        return gpus;
    }

    /** Eight that are whole, each with room for eight minors. */
    static std::vector<AmdGpu> spx()
    {
        std::vector<AmdGpu> gpus;
        for (const AmdGpu &partition : cpx()) {
            if (partition.partition == 0)
                gpus.push_back(partition);
        }
        return gpus;
    }

    /** Eight whose minors are not in PCI order. */
    static std::vector<AmdGpu> mi210()
    {
        std::vector<AmdGpu> gpus;
        for (const char *bus : {"63", "43", "03", "26", "e3", "c3", "83", "a3"}) {
            const auto i = static_cast<unsigned>(gpus.size());
            AmdGpu gpu{2 + i, "0000:" + std::string(bus) + ":00.0", 1 + i, 128 + i};
            gpu.gfx = 90010;
            gpu.simd_count = 416;
            gpu.unique_id = gpu.drm_unique_id = 0x2100000000000000 + i;
            gpus.push_back(gpu);
        }
        return gpus;
    }
};

/** A sysroot with what the amdgpu driver shows in /sys and /proc, linked as the kernel does. */
class AmdHost : public TempDirectory {
public:
    /** A host without the driver. */
    AmdHost() { directory("sys/class/drm"); }

    /** One with KFD, a CPU and these. */
    explicit AmdHost(const std::vector<AmdGpu> &gpus)
    {
        kfd();
        for (const AmdGpu &each : gpus)
            gpu(each);
    }

    void kfd(const std::string &number = "510:0") const
    {
        directory("sys/class/drm");
        directory("sys/class/kfd");
        file("sys/devices/virtual/kfd/kfd/dev", number + "\n");
        link("sys/class/kfd/kfd", "../../devices/virtual/kfd/kfd");
        devices(" 10 misc\n226 drm\n510 kfd\n");
        node(0, "cpu_cores_count 48\nsimd_count 0\nmem_banks_count 1\nlocation_id 0\ndomain 0\n"
                "drm_render_minor 0\n");
    }

    /** Replaces the character devices. */
    void devices(const std::string &lines) const
    {
        file("proc/devices", "Character devices:\n  1 mem\n" + lines + "\nBlock devices:\n  8 sd\n");
    }

    /** A node of KFD's topology. */
    void node(unsigned number, const std::string &properties) const
    {
        file(node_directory(number) + "/properties", properties);
    }

    void gpu(const AmdGpu &gpu) const
    {
        node(gpu.node, gpu.properties());
        file(node_directory(gpu.node) + "/mem_banks/0/properties",
             "heap_type 1\nsize_in_bytes " + std::to_string(gpu.memory) + "\nflags 0\nwidth 4096\n");
        drm(gpu.device(), gpu.card, gpu.render_minor);
        if (!gpu.platform_device.empty())
            return;
        const std::string device = device_directory(gpu.address);
        if (gpu.drm_unique_id != 0)
            file(device + "/unique_id", hexadecimal(gpu.drm_unique_id) + "\n");
        file(device + "/mem_info_vram_total", std::to_string(gpu.memory) + "\n");
    }

    /** Card and render node of a device; what KFD does not list of amdgpu's is a blank partition. */
    void drm(const std::string &device, unsigned card, unsigned render_minor,
             const std::string &driver_name = "amdgpu") const
    {
        drm_node(device, "card" + std::to_string(card), card);
        drm_node(device, "renderD" + std::to_string(render_minor), render_minor);
        if (parse_pci_address(device)) // partitions have no connectors
            directory(device_directory(device) + "/drm/card" + std::to_string(card) + "/card" +
                      std::to_string(card) + "-DP-1");
        driver(device, driver_name);
    }

    /** The display of a server's management: a card alone, of another driver. */
    void bmc(unsigned card) const
    {
        drm_node("0000:c2:00.0", "card" + std::to_string(card), card);
        driver("0000:c2:00.0", "ast");
    }

    static std::string node_directory(unsigned number)
    {
        return "sys/devices/virtual/kfd/kfd/topology/nodes/" + std::to_string(number);
    }

    static std::string device_directory(const std::string &device)
    {
        return (parse_pci_address(device) ? "sys/devices/pci0000:00/" : "sys/devices/platform/") + device;
    }

private:
    static std::string hexadecimal(std::uint64_t number)
    {
        std::string text;
        for (unsigned shift = 64; shift != 0; shift -= 4)
            text += "0123456789abcdef"[number >> (shift - 4) & 0xFU];
        return text;
    }

    void drm_node(const std::string &device, const std::string &name, unsigned minor) const
    {
        const std::string place = device_directory(device) + "/drm/" + name;
        file(place + "/dev", "226:" + std::to_string(minor) + "\n");
        link(place + "/device", "../../../" + device);
        link("sys/class/drm/" + name, "../../../" + place);
    }

    void driver(const std::string &device, const std::string &name) const
    {
        directory("sys/bus/pci/drivers/" + name);
        if (!std::filesystem::is_symlink(path(device_directory(device) + "/driver")))
            link(device_directory(device) + "/driver", "../../../bus/pci/drivers/" + name);
    }
};

} // namespace ogh::test
