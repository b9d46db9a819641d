// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "edits/edits.h"
#include "hook/cdi_stand_in.h"
#include "hook/command_line.h"
#include "hook/gpu_lease.h"
#include "hook/hook.h"
#include "hook/lease_listing.h"
#include "hook/listing.h"
#include "host/sysroot.h"
#include "oci/config.h"
#include "request/device_plugin.h"
#include "request/request.h"
#include "request/selection.h"

namespace ogh {

/** What a container asks of a GPU hook. */
struct GpuRequest {
    RequestValue asked;
    Selectors selectors; ///< as its variables have it, where they choose the GPUs
    SelectionPolicy policy;
    LeaseDetails lease;
    bool by_environment = false; ///< its variables choose, or a device plugin does: there is a config.json
};

/** What is the same in every run. */
struct GpuTraits {
    GpuTags tags;  ///< how a worker's tags call its GPUs
    VendorCdi cdi; ///< what CDI devices are called by the vendor's own tools, and who else makes them
    PluginNames plugin_names;      ///< what Kubernetes' device plugin for its GPUs says, and where
    bool has_use_for_none = false; ///< `none` gives a container something nevertheless
};

/**
 * What a vendor supplies to run_gpu_hook(), which calls this from top to bottom. One object serves one run: it keeps
 * what it has found.
 */
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

    /** The host's GPUs, for --list, after which nothing else is called. @throws Error if there are none */
    virtual HostListing list(const Sysroot &sysroot, const SelectionPolicy &policy, Notes &notes) = 0;

    /** The GPUs of the last list() or find(), in that order. */
    [[nodiscard]] virtual std::vector<Candidate> gpus() const = 0;

    /** Whether the vendor's own tools have put something into config.json: then they give what its mounts ask for. */
    [[nodiscard]] virtual bool is_served_by_vendor(const Config & /*config*/) const { return false; }

    /** What the container's variables ask of the vendor's own tools. @return nothing if they ask for no GPU */
    virtual std::optional<Selectors> asked_of_tools(const Config &config) = 0;

    /** Understands what is asked for beside GPUs. @throws Error: Usage; Denied for what is not handed out */
    virtual void ask(const GpuRequest & /*request*/, const Hook & /*hook*/) {}

    /**
     * Reads what the host has.
     * @return its GPUs, in PCI order; nothing if there is nothing to do, which stands in `notes`
     * @throws Error if there is no GPU, and that must not pass without a word
     */
    virtual std::optional<std::vector<Candidate>> find(const Sysroot &sysroot, const GpuRequest &request,
                                                       Notes &notes) = 0;

    /** @param chosen places in what find() has given, ascending */
    virtual Edits plan(const std::vector<size_t> &chosen, const Sysroot &sysroot, Hook &hook,
                       Notes &notes) = 0;

private:
    GpuTraits traits_;
};

} // namespace ogh
