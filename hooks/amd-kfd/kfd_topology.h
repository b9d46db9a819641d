// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "amd-kfd/kfd_properties.h"
#include "amd-kfd/sysfs_file.h"
#include "host/sysroot.h"

namespace ogh::amd_kfd {

/** A GPU, or a partition of one, that KFD can compute on. */
struct KfdNode {
    std::string name; ///< its number in the topology
    KfdProperties properties;
};

/** What KFD shows to this process. */
struct KfdTopology {
    std::vector<KfdNode> gpus; ///< in no order
    unsigned hidden = 0;       ///< GPUs that this process's device cgroup does not let it open
};

/** Adds a node as its `properties` file says; CPUs, and nodes that are being taken away, are passed over. */
void add_node(KfdTopology &topology, const std::string &name, const SysfsFile &properties);

/** The compute half of the amdgpu driver, in sysfs. */
class KfdClass final {
public:
    /** @throws Error (BrokenHost) if sysfs cannot be looked into */
    explicit KfdClass(const Sysroot &sysroot);

    /** Whether the kernel has it at all. */
    [[nodiscard]] bool exists() const { return place_.has_value(); }

    /** Of /dev/kfd. @throws Error (BrokenHost) */
    [[nodiscard]] std::optional<DeviceNumber> number() const;

    /**
     * One file is read for each node, its properties: what `gpu_id` says of it, that it is a GPU or is hidden, they say
     * too.
     * @throws Error (BrokenHost)
     */
    [[nodiscard]] KfdTopology topology() const;

    /** The bytes of a node's memory that is a GPU's own; nothing if it is not said. @throws Error (BrokenHost) */
    [[nodiscard]] std::optional<std::uint64_t> memory(const std::string &name,
                                                      const KfdProperties &properties) const;

private:
    std::optional<ResolvedPath> place_;
    std::string what_; ///< names it in messages
};

} // namespace ogh::amd_kfd
