// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hook/gpu_options.h"
#include "hook/gpu_vendor.h"
#include "hook/hook.h"
#include "lease/leases.h"

namespace ogh {

/** What --list, --cdi, --drain and --undrain do, without a container. */
class GpuAdmin final {
public:
    GpuAdmin(Hook &hook, const GpuVendor &vendor, const GpuOptions &options)
        : hook_(hook), vendor_(vendor), options_(options), sysroot_(hook.sysroot())
    {
    }

    void print_list(const SelectionPolicy &policy);

    /** @param words the command line */
    void print_cdi(std::vector<std::string> words, const SelectionPolicy &policy);

    void set_drained();

private:
    void note_dead(const std::vector<Candidate> &gpus);
    std::vector<Candidate> gpus_if_any(SelectionPolicy policy);
    std::optional<LeaseList> list_leases(ListFormat format);
    std::map<LeaseKey, std::string> used_without_lease(const GpuList &list, const LeaseState &leases);

    Hook &hook_;
    const GpuVendor &vendor_;
    const GpuOptions &options_;
    const Sysroot &sysroot_;
};

} // namespace ogh
