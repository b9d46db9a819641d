// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "edits/edits.h"
#include "host/drm_nodes.h"
#include "host/proc_devices.h"
#include "host/sysroot.h"
#include "nvidia-devices/request/capabilities.h"
#include "nvidia/driver_params.h"
#include "nvidia/listed_gpus.h"

namespace ogh::nvidia_devices {

/** An instance of a GPU that is divided (MIG). */
struct InstancePlace {
    size_t gpu = 0;      ///< in Inventory::gpus
    size_t instance = 0; ///< in Gpu::instances

    bool operator==(const InstancePlace &) const = default;
};

/** What a container is to get. */
struct GpuSelection {
    std::vector<size_t>
        gpus; ///< places in Inventory::gpus, ascending; none: what the driver says of itself alone
    Capabilities capabilities;
    std::vector<unsigned> imex_channels = {}; ///< ascending; the driver has them
    std::vector<InstancePlace> instances =
        {}; ///< ascending; of those of `gpus` that are divided, what the container gets
};

using Gpu = ListedGpu;

/** What this host has of NVIDIA's. */
struct Inventory : ListedGpus {
    bool has_driver = false; ///< the kernel module is loaded; all else but `is_tegra` is empty if not
    bool is_tegra =
        false; ///< a Jetson or the like, whose GPU is none of PCI's; looked at where there is none
    std::optional<std::string>
        version; ///< "555.42.07", in which its libraries end; nothing if it cannot be understood
    ProcDevices devices;
    std::string host_root; ///< the sysroot, as this process names it; "" for `/`
    DriverProc proc;
};

/**
 * Understands /proc/driver/nvidia/version of the closed and of the open module: the first two or three numbers with
 * dots between them that follow "Kernel Module".
 * @return nothing if it has no such number
 */
std::optional<std::string> parse_driver_version(std::string_view text);

/**
 * Reads what the driver says in /proc below the sysroot, but for the nodes of instances: those of one that is to be handed
 * out, or told whether it can be, are read by read_instances(). No library and no device of the driver is touched, so it
 * costs the same with or without persistence mode, and opens no GPU.
 * @param notes directories that are no GPU's, and a version that cannot be understood
 * @throws Error (BrokenHost) if the driver is loaded and its list of GPUs, or /proc/devices, cannot be read
 */
Inventory find_gpus(const Sysroot &sysroot, Notes &notes);

/**
 * Fills in the nodes of instances, or why they cannot be handed out; of each that has neither yet.
 * @param places ascending is fastest
 * @throws Error (BrokenHost) if the driver's directories are not there any more
 */
void read_instances(const Sysroot &sysroot, Inventory &inventory, const std::vector<InstancePlace> &places);

/** find_gpus() with all instances read. */
Inventory read_inventory(const Sysroot &sysroot, Notes &notes);

/** The instances of an inventory's GPUs, GPU after GPU: behind the GPUs they are its further candidates, in this order. */
std::vector<InstancePlace> instance_places(const Inventory &inventory);

/** "/dev/nvidia3"; of a GPU that has a minor. */
std::string node_path(const Gpu &gpu);

/**
 * Notes of each GPU, and of each instance, whether this process may open its node below the sysroot.
 * @throws Error (BrokenHost) if /dev cannot be looked at
 */
void read_access(const Sysroot &sysroot, Inventory &inventory);

/** @throws Error (NotAvailable) if the host has no driver */
void require_driver(const Inventory &inventory);

/** @throws Error (NotAvailable) if the host has no driver, or the driver no GPU */
void require_gpu(const Inventory &inventory);

// Names in /proc/devices, besides those in nvidia/listed_gpus.h.
constexpr std::string_view modeset_devices = "nvidia-modeset";

/** The node of the driver itself, whose major number is that of its GPUs. */
constexpr const char *control_path = "/dev/nvidiactl";
constexpr unsigned control_minor = 255;

/**
 * The major number of /dev/nvidiaN and /dev/nvidiactl.
 * @throws Error (BrokenHost) if the driver is not in /proc/devices
 */
unsigned gpu_major(const Inventory &inventory);

/**
 * The major number of another kernel module's devices.
 * @param name in /proc/devices, and of the module
 * @throws Error (BrokenHost) that says how to load it
 */
unsigned module_major(const Inventory &inventory, std::string_view name);

/** What the inventory leaves out, since few containers ask for it. */
struct DeviceNodes {
    std::map<size_t, DrmNodes>
        drm; ///< by place in Inventory::gpus; none without graphics and display, or of what is divided
    std::vector<NodeEdit> named; ///< of Gds, Gdrcopy and Mofed
};

/**
 * Reads what `selection` needs beyond the inventory, from sysfs.
 * @throws Error (BrokenHost) if there is nothing of what was named, with the module to load; for a device without number
 */
DeviceNodes read_device_nodes(const Sysroot &sysroot, const Inventory &inventory,
                              const GpuSelection &selection);

} // namespace ogh::nvidia_devices
