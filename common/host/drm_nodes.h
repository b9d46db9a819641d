// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "host/pci_address.h"
#include "host/sysroot.h"

namespace ogh {

/** A node of /dev/dri. */
struct DrmNode {
    std::string name; ///< "card1", "renderD129"
    unsigned major = 0;
    unsigned minor = 0;

    bool operator==(const DrmNode &) const = default;
};

/** Those of one device. The numbers of card and render node have nothing to do with each other. */
struct DrmNodes {
    std::optional<DrmNode> card;
    std::optional<DrmNode> render;

    bool operator==(const DrmNodes &) const = default;
};

/**
 * Reads the `drm` directory of a device in sysfs.
 * @param device such as "/sys/bus/pci/devices/0000:5e:00.0"; it may be a symlink
 * @return neither if there is no such device, or no DRM driver has it
 * @throws Error (BrokenHost) if it cannot be read
 */
DrmNodes read_drm_nodes(const Sysroot &sysroot, const std::string &device);

/** The directory of a PCI device in sysfs. */
std::string sysfs_directory(const PciAddress &address);

/** The link in /dev/dri/by-path that leads to a node: "pci-0000:5e:00.0-card" and "-render" (systemd's 60-drm.rules). */
std::string by_path_name(const PciAddress &address, const DrmNode &node);

} // namespace ogh
