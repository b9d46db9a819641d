// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "amd-kfd/sysfs_file.h"
#include "host/drm_nodes.h"
#include "host/sysroot.h"

namespace ogh::amd_kfd {

/** "renderD129" */
std::string render_name(unsigned render_minor);

/**
 * /sys/class/drm, where each node of /dev/dri has a directory, and in that `device`, a symlink to what it is a node of: a
 * PCI device, or a platform device for all partitions of a GPU but the first. No device cgroup hides any of it.
 */
class DrmClass final {
public:
    /** @throws Error (BrokenHost) if sysfs cannot be looked into */
    explicit DrmClass(const Sysroot &sysroot);

    /** The name of the device of a render node: "0000:1b:00.0", "amdgpu_xcp_3"; "" if there is no such node. */
    [[nodiscard]] std::string device(unsigned render_minor) const;

    /** A render node; nothing if there is none. @throws Error (BrokenHost) */
    [[nodiscard]] std::optional<DrmNode> render(unsigned render_minor) const;

    /**
     * The card of a render node's device. Their numbers have nothing to do with each other.
     * @param device of the render node, as device() has it
     * @return nothing if it has none
     * @throws Error (BrokenHost)
     */
    [[nodiscard]] std::optional<DrmNode> card(unsigned render_minor, const std::string &device);

    /** What amdgpu says is the unique id of a render node's device; 0 if it says none. @throws Error (BrokenHost) */
    [[nodiscard]] std::uint64_t unique_id(unsigned render_minor) const;

    /** The bytes of its memory; nothing if it is not said. @throws Error (BrokenHost) */
    [[nodiscard]] std::optional<std::uint64_t> memory(unsigned render_minor) const;

    /** The devices with a render node that the driver amdgpu has, sorted. @throws Error (BrokenHost) */
    [[nodiscard]] std::vector<std::string> amdgpu_devices() const;

private:
    [[nodiscard]] std::string listed_card(unsigned render_minor) const;
    [[nodiscard]] std::optional<DrmNode> read_node(const std::string &name) const;
    [[nodiscard]] SysfsFile read(unsigned render_minor, const std::string &name) const;

    std::optional<ResolvedPath> place_;
    std::string what_;        ///< names it in messages
    unsigned distance_ = 128; ///< between the numbers of the last card and its render node
};

} // namespace ogh::amd_kfd
