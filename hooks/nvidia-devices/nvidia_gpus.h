// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/gpu_vendor.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/request/capabilities.h"
#include "nvidia-devices/request/imex_channels.h"
#include "nvidia-devices/request/plugin_names.h"
#include "nvidia-devices/request/requirement.h"

namespace ogh::nvidia_devices {

/** NVIDIA's GPUs, and the files of their driver. */
class NvidiaGpus final : public GpuVendor {
public:
    NvidiaGpus();
    void add_options(CommandLine &cli) override;
    void check_options(const CommonOptions &common, bool is_for_cdi) override;
    HostListing list(const Sysroot &sysroot, const SelectionPolicy &policy, Notes &notes) override;
    [[nodiscard]] std::vector<Candidate> gpus() const override;
    [[nodiscard]] bool is_served_by_vendor(const Config &config) const override
    {
        return has_vendor_hook(config);
    }
    std::optional<Selectors> asked_of_tools(const Config &config) override;

    void ask(const GpuRequest &request, const Hook &hook) override;
    std::optional<std::vector<Candidate>> find(const Sysroot &sysroot, const GpuRequest &request,
                                               Notes &notes) override;
    Edits plan(const std::vector<size_t> &chosen, const Sysroot &sysroot, Hook &hook, Notes &notes) override;

private:
    /**
     * The capabilities that are asked for by name: by the container, or, where it is the host that asks for GPUs, by
     * --capabilities; the container's own win where the host asks for every container.
     * @throws Error (Usage)
     */
    [[nodiscard]] std::optional<Capabilities> named_capabilities(const GpuRequest &request,
                                                                 const Hook &hook) const;

    /** Asks NVIDIA's library for names of instances, where a request or the policy has one. */
    void name_instances_for(const Selectors &selectors, const SelectionPolicy &policy, const Sysroot &sysroot,
                            Notes &notes);

    /** @throws Error (Usage) */
    [[nodiscard]] ImexPolicy imex_policy() const;

    /** @throws Error: Usage; Denied for what the host does not hand out */
    void ask_for_channels(const GpuRequest &request, const Hook &hook);

    std::string driver_root_ = "/";
    std::optional<std::string> requested_capabilities_; ///< what --request asks for beside GPUs
    std::optional<std::string> allow_capabilities_;     ///< the only ones that may be asked for
    std::vector<Capabilities> allowed_;
    Capabilities capabilities_;
    std::vector<Requirement> requirements_;
    std::optional<std::string> imex_;       ///< what --request asks for beside GPUs
    std::optional<std::string> allow_imex_; ///< the only ones that may be asked for
    std::vector<unsigned> imex_channels_;
    bool has_files_ = true;
    Inventory inventory_;
};

} // namespace ogh::nvidia_devices
