// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "edits/edits.h"
#include "host/sysroot.h"
#include "lease/state/lease_state.h"

namespace ogh::cdi_devices {

/** What a device of a specification is on this host, whatever it is called there. */
struct DeviceKeys {
    /**
     * What leases know it by; sorted, each once. GPUs have those of their own hook: "nvidia:0000:1b:00.0", of an instance
     * "nvidia:0000:1b:00.0/1/0", "amd:0000:1b:00.0". What else sits on the PCI bus is "pci:0000:1b:00.0", all its nodes
     * together; other nodes are "char:10:229" and "block:8:0", as the kernel numbers them.
     */
    std::vector<LeaseKey> keys;
    std::string gpu_hook = {};            ///< which hook's devices are among them; "" if there is none
    std::string gpu_node = {};            ///< the path of the first node that is why
    std::set<std::string> of_driver = {}; ///< paths of nodes that all devices of a driver have in common
};

/** The nodes of a device, as plan_node() makes them. */
struct DeviceNodes {
    std::vector<NodeEdit> own;
    std::vector<NodeEdit> of_file; ///< those that all devices of its specification share
};

/**
 * Finds out what nodes are, by their numbers alone: by /proc/devices, by what NVIDIA's driver says in /proc, and by
 * /sys/dev. The driver's nodes on a host where it lists no GPU, as on a Jetson, are no GPU's.
 *
 * What is shared by all devices of a driver (/dev/nvidiactl, /dev/nvidia-uvm, /dev/kfd) is no device, and neither is
 * what comes beside one that has an address on the PCI bus. Of a GPU that is divided (MIG) the instances count whose
 * nodes are there; without any it is the whole.
 *
 * @param devices for each the nodes
 * @param may_give_gpus false: what a GPU is need not be known, only that it is one
 * @return in the order of the devices; without keys if there is no node
 * @throws Error: BrokenHost if it cannot be read or told what a GPU's node is; NotAvailable and others, a GPU's own problem
 */
std::vector<DeviceKeys> find_device_keys(const std::vector<DeviceNodes> &devices, bool may_give_gpus,
                                         const Sysroot &sysroot, Notes &notes);

} // namespace ogh::cdi_devices
