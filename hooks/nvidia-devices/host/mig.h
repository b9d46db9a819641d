// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "host/node_access.h"
#include "host/sysroot.h"

namespace ogh::nvidia_devices {

// How the driver shows GPUs that are divided (MIG): for each GPU instance and each compute instance in it a folder below
// /proc/driver/nvidia/capabilities, and in that a file `access`, which names a node of /dev/nvidia-caps. Whoever opens the
// node has the right to the instance.

constexpr const char *capabilities_folder = "/proc/driver/nvidia/capabilities";

/** A node of /dev/nvidia-caps. */
struct CapNode {
    unsigned minor = 0;
    mode_t mode = 0444;

    bool operator==(const CapNode &) const = default;
};

/** "/dev/nvidia-caps/nvidia-cap13" */
std::string cap_node_path(const CapNode &node);

/** A compute instance of a GPU instance: what NVIDIA's tools call a MIG device. */
struct MigInstance {
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
    CapNode gpu_node = {};
    CapNode compute_node = {};
    std::string problem = {};             ///< why it cannot be handed out; "" if it can
    NodeAccess access = NodeAccess::Open; ///< to the node of the compute instance, as read_access() finds it

    bool operator==(const MigInstance &) const = default;
};

/**
 * Understands a file `access`: lines "KEY: NUMBER", of which DeviceFileMinor and DeviceFileMode (decimal) count.
 * @return nothing if one of them is missing, or nothing that a node of it could have
 */
std::optional<CapNode> parse_cap_access(std::string_view text);

/**
 * @param minors /proc/driver/nvidia-caps/mig-minors: lines "NAME MINOR" for all that the driver could ever have
 * @param name "gpu0/gi1/access" or "config"
 * @return nothing if no line has the name and a number that a node could have
 */
std::optional<unsigned> mig_minor(std::string_view minors, std::string_view name);

/** Where the files of an instance are, below the driver's folder `capabilities`: "gpu3/mig/gi1/access". */
std::string gpu_instance_access(unsigned gpu_minor, unsigned gpu_instance);

/** "gpu3/mig/gi1/ci0/access" */
std::string compute_instance_access(unsigned gpu_minor, const MigInstance &instance);

/** Reads how GPUs are divided. The sysroot must outlive it. */
class MigReader final {
public:
    /** @throws Error (Host) */
    explicit MigReader(const Sysroot &sysroot);

    /** The driver's folder `capabilities`, as this process names it; "" if there is none. */
    [[nodiscard]] const std::string &folder() const { return folder_name_; }

    /**
     * What a GPU is divided into, in the order of the numbers.
     * @param gpu_minor of /dev/nvidiaN, by which the driver names it here
     * @return nothing if the GPU is not divided; it may be, and have no compute instance
     * @throws Error (Host) if the folders cannot be read, or hold more than the driver can make
     */
    std::optional<std::vector<MigInstance>> instances_of(unsigned gpu_minor);

    /**
     * The node of a right over all GPUs.
     * @param name "config" or "monitor"
     * @throws Error: NotAvailable if the driver has no such right; Host
     */
    CapNode right(const std::string &name);

    /** The nodes of all instances that a GPU could be divided into, in the driver's order. @throws Error (Host) */
    std::vector<CapNode> possible_instances(unsigned gpu_minor);

private:
    /** The text of mig-minors, read once; "" if there is none. @throws Error (Host) */
    const std::string &minors();
    /** Nothing if there is no such file. */
    std::optional<CapNode> read_node(const std::string &path, const std::string &name);
    CapNode read_access(const std::string &path, const std::string &name);
    MigInstance read_instance(unsigned gpu_minor, unsigned gpu_instance, unsigned compute_instance);

    const Sysroot &sysroot_;
    UniqueFd folder_;
    std::string folder_name_;
    std::optional<std::string> minors_;
};

} // namespace ogh::nvidia_devices
