// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "host/pci_address.h"

namespace ogh {

constexpr const char *dri_directory = "/dev/dri/";

/** A node there. */
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
 * Reads the `drm` directory of a device in sysfs. Symlinks on the way are followed: the kernel's own are relative, and stay
 * in sysfs.
 * @param directory descriptor of a directory, O_PATH is enough
 * @param device relative to it: "0000:5e:00.0" of /sys/bus/pci/devices, "renderD129/device" of /sys/class/drm
 * @param what names `directory` in messages, unquoted
 * @return neither if there is no such device, or no DRM driver has it
 * @throws Error (BrokenHost) if it cannot be read
 */
DrmNodes read_drm_nodes(int directory, const std::string &device, const std::string &what);

constexpr const char *pci_devices_directory = "/sys/bus/pci/devices";

/** The directory of a PCI device in it. */
std::string sysfs_directory(const PciAddress &address);

} // namespace ogh
