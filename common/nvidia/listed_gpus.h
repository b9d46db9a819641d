// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "host/node_access.h"
#include "host/pci_address.h"
#include "host/sysroot.h"
#include "lease/state/lease_state.h"
#include "nvidia/mig.h"

namespace ogh {

// What the driver's devices are called in /proc/devices.
constexpr std::array<std::string_view, 3> driver_devices{"nvidia", "nvidia-frontend",
                                                         "nvidiactl"}; ///< driver 550.40 renamed them
constexpr std::string_view uvm_devices = "nvidia-uvm";
constexpr std::string_view caps_devices = "nvidia-caps";
constexpr std::string_view imex_devices = "nvidia-caps-imex-channels";

/** The highest minor number of a GPU's node; those above belong to the driver itself. */
constexpr unsigned max_gpu_minor = 247;

/** What the driver says of one GPU. */
struct GpuInformation {
    std::string model;             ///< "" if it is not said
    std::string uuid;              ///< "GPU-…"; "" while the driver does not know it
    std::optional<unsigned> minor; ///< of /dev/nvidiaN
    bool is_excluded = false;      ///< the host's administrator keeps it from use (NVreg_ExcludedGpus)

    bool operator==(const GpuInformation &) const = default;
};

/** A GPU that NVIDIA's driver has. */
struct ListedGpu {
    PciAddress address;
    std::string directory; ///< its name below /proc/driver/nvidia/gpus, as this driver writes addresses
    GpuInformation information;
    std::string problem; ///< why it cannot be handed out; "" if it can
    ErrorKind problem_kind = ErrorKind::None;
    NodeAccess access = NodeAccess::Open;    ///< to /dev/nvidiaN, as read_access() finds it
    bool is_divided = false;                 ///< into GPU instances (MIG)
    std::vector<MigInstance> instances = {}; ///< the compute instances in them
};

/** What the driver lists in /proc/driver/nvidia. */
struct ListedGpus {
    std::vector<ListedGpu> gpus; ///< in PCI order
    std::string
        gpus_directory; ///< gpus below the driver's directory in /proc, as this process names it; "" if there is none
    std::string capabilities_directory; ///< the same for capabilities
};

/**
 * Reads the GPUs and how they are divided, but for the nodes of instances (MigReader::read_nodes()). No device is opened.
 * @param notes directories that are no GPU's
 * @throws Error (BrokenHost) if the list cannot be read
 */
ListedGpus list_nvidia_gpus(const Sysroot &sysroot, Notes &notes);

LeaseKey lease_key(const ListedGpu &gpu);
LeaseKey lease_key(const ListedGpu &gpu, const MigInstance &instance);

} // namespace ogh
