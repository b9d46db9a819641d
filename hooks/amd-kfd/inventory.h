// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "amd-kfd/kfd_topology.h"
#include "base/error.h"
#include "base/log.h"
#include "host/drm_nodes.h"
#include "host/node_access.h"
#include "host/pci_address.h"
#include "host/sysroot.h"

namespace ogh::amd_kfd {

/** A GPU, or a partition of one, that the driver can compute on. */
struct Gpu {
    std::string node; ///< its number in KFD's topology
    KfdProperties kfd;
    std::string device;     ///< what it is in sysfs: "0000:1b:00.0", or of a further partition "amdgpu_xcp_3"
    PciAddress address;     ///< its own, or that of the GPU that it is a partition of
    unsigned parent = 0;    ///< which of the host's addresses that is, in PCI order
    unsigned partition = 0; ///< which of those with that address it is
    DrmNodes drm;           ///< of its own; whose render node is there, if there is no problem
    std::uint64_t drm_unique_id = 0;     ///< of the whole GPU; 0: none
    std::optional<std::uint64_t> memory; ///< bytes, as read_memory() finds it
    std::string problem;                 ///< why it cannot be handed out; "" if it can
    ErrorKind problem_kind = ErrorKind::BrokenHost;
    NodeAccess access = NodeAccess::Open; ///< to its render node, as read_access() finds it
};

/** What this host has of AMD's. */
struct Inventory {
    std::vector<Gpu> gpus;           ///< in order of address and render minor
    unsigned hidden = 0;             ///< GPUs that this process's device cgroup keeps from it
    std::optional<DeviceNumber> kfd; ///< of /dev/kfd; nothing if the kernel has none
    std::string host_root;           ///< the sysroot, as this process names it; "" for `/`
    // Where KFD has no GPU, as far as it says why.
    std::vector<std::string> graphics_alone; ///< devices that amdgpu has nevertheless
    bool is_wsl = false;                     ///< there is a /dev/dxg instead
};

/**
 * Reads what the driver says in sysfs below the sysroot. No library and no device of the driver is touched.
 *
 * What KFD does not list is none of it: amdgpu makes nodes for as many partitions as a GPU could have, and those that
 * it has not are of no use. Where the address in sysfs and KFD's differ, as on old kernels that know no PCI domain,
 * sysfs is right.
 *
 * @param notes how many GPUs are hidden
 * @throws Error (BrokenHost) if there are GPUs and what there is of them cannot be read
 */
Inventory read_inventory(const Sysroot &sysroot, Notes &notes);

/** Fills in the memory of each GPU, for people. @throws Error (BrokenHost) */
void read_memory(const Sysroot &sysroot, Inventory &inventory);

/**
 * Notes of each GPU whether this process may open its render node below the sysroot. That is the one that counts: KFD
 * asks the device cgroup for it, too (kfd_devcgroup_check_permission() in amdkfd).
 * @throws Error (BrokenHost) if /dev cannot be looked at
 */
void read_access(const Sysroot &sysroot, Inventory &inventory);

/** Why there is no GPU for anybody: the error for who asks for one; NotAvailable if the host has none, else Host. */
std::optional<Error> why_none(const Inventory &inventory);

/** "renderD129"; "" if it has none. */
std::string render_name(const Gpu &gpu);

/**
 * Whether the GPU is a part of a CPU: its gfx version is one that only those have; where the kernel does not say that,
 * KFD shows it and its CPU as one node, as such kernels do. An MI300A counts as a GPU of its own.
 */
bool is_integrated(const Gpu &gpu);

} // namespace ogh::amd_kfd
