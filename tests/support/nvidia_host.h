// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "support/temp_directory.h"

namespace ogh::test {

/** What a synthetic driver says of a GPU; every value is made up. */
struct NvidiaGpu {
    std::string directory; ///< its name below gpus: "0000:5e:00.0"
    unsigned minor = 0;
    std::string uuid_line =
        "GPU UUID: \t GPU-5a1c0de0-1111-4222-8333-0123456789ab\n"; ///< "" if there is none
    std::string excluded_line = "GPU Excluded:\t No\n";

    [[nodiscard]] std::string information() const
    {
        return "Model: \t\t NVIDIA Example 48\n"
               "IRQ:   \t\t 91\n" +
               uuid_line +
               "Video BIOS: \t 91.02.17.00.0e\n"
               "Bus Type: \t PCIe\n"
               "DMA Size: \t 47 bits\n"
               "DMA Mask: \t 0x7fffffffffff\n"
               "Bus Location: \t " +
               directory + "\nDevice Minor: \t " + std::to_string(minor) + "\nGPU Firmware: \t 555.42.07\n" +
               excluded_line;
    }

    /** With a UUID that ends in `end`, of two digits. */
    static NvidiaGpu numbered(const std::string &directory, unsigned minor, const std::string &end)
    {
        return {directory, minor, "GPU UUID: \t GPU-5a1c0de0-1111-4222-8333-0123456789" + end + "\n"};
    }

    /** Eight whose minors are not in PCI order: 2 3 1 0 6 7 5 4. */
    static std::vector<NvidiaGpu> eight()
    {
        return {numbered("0000:63:00.0", 0, "00"), numbered("0000:43:00.0", 1, "01"),
                numbered("0000:03:00.0", 2, "02"), numbered("0000:26:00.0", 3, "03"),
                numbered("0000:e3:00.0", 4, "04"), numbered("0000:c3:00.0", 5, "05"),
                numbered("0000:83:00.0", 6, "06"), numbered("0000:a3:00.0", 7, "07")};
    }
};

/** A sysroot with what NVIDIA's driver shows in /proc and /sys. */
class NvidiaHost : public TempDirectory {
public:
    static constexpr const char *closed_module =
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  555.42.07  Mon Jan  5 10:11:12 UTC 2026\n"
        "GCC version:  gcc version 12.9.1 (Example 12.9.1-1) \n";
    static constexpr const char *open_module = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
                                               "601.10.03  Release Build  (builder@example)  "
                                               "Tue Feb  3 04:05:06 UTC 2026\n"
                                               "GCC version:  gcc version 12.9.1 (Example 12.9.1-1)\n";

    /** A host without the driver. */
    NvidiaHost() = default;

    /** One with the driver and these GPUs. */
    explicit NvidiaHost(const std::vector<NvidiaGpu> &gpus, const std::string &version = closed_module)
    {
        driver(version);
        for (const NvidiaGpu &each : gpus)
            gpu(each);
    }

    void driver(const std::string &version = closed_module) const
    {
        file("proc/driver/nvidia/version", version);
        file("proc/driver/nvidia/params",
             "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nRmMsg: \"\"\n");
        directory("proc/driver/nvidia/gpus");
        devices("195 nvidia\n195 nvidiactl\n195 nvidia-modeset\n226 drm\n510 nvidia-uvm\n511 nvidia-caps\n");
    }

    /** Replaces the character devices. */
    void devices(const std::string &lines) const
    {
        file("proc/devices", "Character devices:\n  1 mem\n" + lines + "\nBlock devices:\n  8 sd\n");
    }

    void gpu(const NvidiaGpu &gpu) const
    {
        file("proc/driver/nvidia/gpus/" + gpu.directory + "/information", gpu.information());
    }

    /** A compute instance of a GPU instance (MIG), as the driver shows it; and all that GPUs could be divided into. */
    void instance(unsigned gpu, unsigned gpu_instance, unsigned compute_instance) const
    {
        const std::string outer = "proc/driver/nvidia/capabilities/gpu" + std::to_string(gpu) + "/mig/gi" +
                                  std::to_string(gpu_instance);
        const unsigned minor = 3 + 135 * gpu + 9 * gpu_instance;
        cap(outer, minor);
        cap(outer + "/ci" + std::to_string(compute_instance), minor + 1 + compute_instance);
        file("proc/driver/nvidia-caps/mig-minors", mig_minors());
    }

    /** A file `access` of the driver's. */
    void cap(const std::string &directory, unsigned minor, unsigned mode = 0444) const
    {
        file(directory + "/access", "DeviceFileMinor: " + std::to_string(minor) + "\nDeviceFileMode: " +
                                        std::to_string(mode) + "\nDeviceFileModify: 1\n");
    }

    /** For GPUs of the minors 0 to 7. */
    static std::string mig_minors()
    {
        std::string text = "config 1\nmonitor 2\n";
        unsigned minor = 3;
        for (unsigned gpu = 0; gpu < 8; ++gpu) {
            for (unsigned outer = 0; outer < 15; ++outer) {
                const std::string name = "gpu" + std::to_string(gpu) + "/gi" + std::to_string(outer);
                text += name + "/access " + std::to_string(minor++) + "\n";
                for (unsigned inner = 0; inner < 8; ++inner)
                    text +=
                        name + "/ci" + std::to_string(inner) + "/access " + std::to_string(minor++) + "\n";
            }
        }
        return text;
    }

    /** Card and render node of a PCI device, in sysfs as the kernel has it: the bus's directory holds symlinks. */
    void drm(const std::string &address, unsigned card, unsigned render_minor) const
    {
        const std::string device = "sys/devices/pci0000:00/" + address;
        const std::string card_name = "card" + std::to_string(card);
        file(device + "/drm/" + card_name + "/dev", "226:" + std::to_string(card) + "\n");
        directory(device + "/drm/" + card_name + "/" + card_name + "-DP-1");
        file(device + "/drm/renderD" + std::to_string(render_minor) + "/dev",
             "226:" + std::to_string(render_minor) + "\n");
        directory("sys/bus/pci/devices");
        link("sys/bus/pci/devices/" + address, "../../../devices/pci0000:00/" + address);
    }
};

} // namespace ogh::test
