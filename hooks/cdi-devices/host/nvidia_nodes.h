// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "host/proc_devices.h"
#include "host/sysroot.h"
#include "lease/lease_state.h"
#include "nvidia/listed_gpus.h"

namespace ogh::cdi_devices {

/** The nodes of NVIDIA's driver: which of them there are, and which GPUs a set of them gives. */
class NvidiaNodes final {
public:
    /** Both have to outlive it. */
    NvidiaNodes(const ProcDevices &majors, const Sysroot &sysroot, Notes &notes)
        : majors_(majors), sysroot_(sysroot), notes_(notes)
    {
    }

    /**
     * Whether character devices of this number are the driver's, and are for GPUs that it lists in /proc. Where it is not
     * loaded its own number is nevertheless: the node would be a GPU's once it is.
     * @throws Error (BrokenHost) if the list cannot be read
     */
    [[nodiscard]] bool has(unsigned major);

    /** Begins a new set. */
    void begin();

    /**
     * Adds a node for which has() is true.
     * @param path for messages
     * @return whether it is a GPU's or an instance's, and not one that all have in common
     * @throws Error: BrokenHost if no GPU and no instance has it; the GPU's own problem
     */
    bool add(unsigned major, unsigned minor, const std::string &path);

    /** What leases know the GPUs and instances of the set by. */
    [[nodiscard]] std::set<LeaseKey> keys() const;

private:
    [[nodiscard]] bool is_named(unsigned major) const;
    const std::vector<ListedGpu> &gpus();
    void read_instances();
    void add_gpu(unsigned minor, const std::string &path);
    void add_instance(unsigned minor, const std::string &path);
    [[nodiscard]] std::set<LeaseKey> instances_of(const ListedGpu &gpu) const;

    const ProcDevices &majors_;
    const Sysroot &sysroot_;
    Notes &notes_;
    std::optional<std::vector<ListedGpu>> gpus_; ///< once they are read
    bool has_instances_ = false;                 ///< their nodes are read
    std::set<unsigned> minors_;                  ///< of GPUs
    std::set<unsigned> caps_;                    ///< of /dev/nvidia-caps
};

} // namespace ogh::cdi_devices
