// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>

#include "host/pci_address.h"
#include "host/sysroot.h"

namespace ogh {

/** What comes of reading a device's configuration space. */
enum class PciAnswer {
    Answers,
    /** Nothing but ones, which is what a bus makes of no answer: the device looks dead. */
    None,
    /** It sleeps, and reading would wake it and the bridge above it; or the host does not show its configuration space. */
    NotAsked,
};

/** The devices in /sys/bus/pci/devices, by address. */
class PciDevices final {
public:
    /** @throws Error if sysfs cannot be looked into */
    explicit PciDevices(const Sysroot &sysroot);

    /**
     * Reads the dwords 0 and 8: a virtual function that is well has ones alone in the first, and its class in the other
     * (PCI Express, 9.3.4.1). Takes microseconds of a device that answers, and of one that does not what the bus needs.
     */
    [[nodiscard]] PciAnswer ask(const PciAddress &address) const;

    /** Those of the addresses at which nothing answers. */
    [[nodiscard]] std::set<PciAddress> dead_among(const std::set<PciAddress> &addresses) const;

private:
    std::optional<ResolvedPath> directory_;
};

} // namespace ogh
