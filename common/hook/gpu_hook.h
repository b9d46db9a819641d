// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/command_line.h"
#include "base/log.h"
#include "edits/edits.h"
#include "hook/gpu_lease.h"
#include "hook/hook.h"
#include "host/sysroot.h"
#include "listing/cdi_spec.h"
#include "listing/cdi_stand_in.h"
#include "listing/lease_listing.h"
#include "listing/listing.h"
#include "oci/config.h"
#include "request/device_plugin.h"
#include "request/request.h"
#include "request/selection.h"

namespace ogh {

/** What a container asks of a GPU hook. */
struct GpuRequest {
    Request asked;
    Selectors selectors; ///< as its variables have it, where they choose the GPUs
    SelectionPolicy policy;
    LeaseRequest lease;
    bool by_environment = false;    ///< its variables choose, or a device plugin does: there is a config.json
    const Config *config = nullptr; ///< of the container; nullptr with --plan by hand
};

/** What is the same in every run. */
struct GpuTraits {
    const char *name;        ///< of the hook, and of its annotations
    const char *description; ///< for --help
    GpuTags tags;            ///< how a worker's tags call its GPUs
    VendorCdi cdi;       ///< what CDI devices are called by the vendor's own tools, and who else makes them
    DevicePlugin plugin; ///< Kubernetes' for its GPUs; what of it is believed the host says
    /** What the container's variables ask of the vendor's own tools; nothing if they ask for no GPU. Throws Error (Usage). */
    std::function<std::optional<Selectors>(const Config &)> asked_of_tools;
    bool has_use_for_none = false; ///< `none` gives a container something nevertheless
};

/** All that was read for one container, of the host and of its image: what a plan is made of. Each vendor has its own. */
class GpuInputs {
public:
    GpuInputs() = default;
    GpuInputs(const GpuInputs &) = delete;
    GpuInputs &operator=(const GpuInputs &) = delete;
    virtual ~GpuInputs() = default;

    /** What is to be done to the container. Pure: it makes no system calls. @throws Error */
    [[nodiscard]] virtual Edits plan(Notes &notes) const = 0;
};

/** What a host has of a vendor's GPUs, as far as a request can mean them. */
class GpuHost {
public:
    /** @param candidates its GPUs, in PCI order */
    explicit GpuHost(std::vector<Candidate> candidates) : candidates_(std::move(candidates)) {}
    GpuHost(const GpuHost &) = delete;
    GpuHost &operator=(const GpuHost &) = delete;
    virtual ~GpuHost() = default;

    [[nodiscard]] const std::vector<Candidate> &candidates() const { return candidates_; }

    /** Looks which of those at these addresses look dead: that is their problem from now on. @throws Error */
    void mark_dead(const Sysroot &sysroot, const std::set<PciAddress> &addresses);

    /** For people: a row for each of candidates(), in their order. */
    [[nodiscard]] virtual HostListing table(const SelectionPolicy &policy) const = 0;

    /** Who uses its GPUs. @throws Error */
    [[nodiscard]] virtual GpuUsers find_users(const Processes &processes, const Monitors &monitors) const = 0;

    /**
     * Reads what only those need that were chosen, and what the plan must know of the image. It is called once.
     * @param chosen places in candidates(), ascending
     * @param hook for its look at the container
     * @throws Error
     */
    [[nodiscard]] virtual std::unique_ptr<const GpuInputs> gather(const std::vector<size_t> &chosen,
                                                                  Hook &hook, Notes &notes) = 0;

private:
    std::vector<Candidate> candidates_;
};

/** What a vendor supplies to run_gpu_hook(): its traits, its own options, and what it reads. */
class GpuVendor {
public:
    explicit GpuVendor(GpuTraits traits) : traits_(std::move(traits)) {}
    GpuVendor(const GpuVendor &) = delete;
    GpuVendor &operator=(const GpuVendor &) = delete;
    virtual ~GpuVendor() = default;

    [[nodiscard]] const GpuTraits &traits() const { return traits_; }

    /** Adds the options that this hook alone has. What they are written to lives as long as this. */
    virtual void add_options(CommandLine & /*cli*/) {}

    /** The options have been read. @param is_for_cdi by --cdi. @throws Error (Usage) for what is wrong with its own */
    virtual void check_options(const CommonOptions & /*common*/, bool /*is_for_cdi*/) {}

    /** Reads all that is known of the host's GPUs. @param sysroot must outlive what is returned. @throws Error if there are none */
    virtual std::unique_ptr<GpuHost> look_at_all(const Sysroot &sysroot, const SelectionPolicy &policy,
                                                 Notes &notes) const = 0;

    /**
     * Reads what the host has, no more than the request can mean.
     * @param sysroot, request must outlive what is returned
     * @return nullptr if there is nothing to do, which stands in `notes`
     * @throws Error if there is no GPU, and that must not pass without a word; Usage, Denied for what is asked for besides
     */
    virtual std::unique_ptr<GpuHost> look(const Sysroot &sysroot, const GpuRequest &request,
                                          Notes &notes) const = 0;

private:
    GpuTraits traits_;
};

/**
 * run_device_hook() for GPUs: with the options that every hook for GPUs has, and from the request to the edits in one
 * order for all vendors.
 * @return the exit status
 */
int run_gpu_hook(int argc, const char *const *argv, GpuVendor &vendor);

} // namespace ogh
