// SPDX-License-Identifier: Apache-2.0
#include "amd-kfd/gpu_table.h"

#include "amd-kfd/candidates.h"
#include "amd-kfd/gfx_version.h"
#include "request/availability.h"

namespace ogh::amd_kfd {

namespace {

std::string memory_text(const Gpu &gpu)
{
    constexpr unsigned mebibyte = 1U << 20U;
    return gpu.memory ? std::to_string(*gpu.memory / mebibyte) + " MiB" : "";
}

} // namespace

HostListing list_gpus(const Inventory &inventory, const SelectionPolicy &policy)
{
    const auto gpus = candidates(inventory);
    const Availability availability(gpus, policy);
    HostListing list{
        "gpus", {}, {"index", "address", "render", "card", "gfx", "type", "vram", "id", "hint", "state"}, {}};
    for (size_t i = 0; i < gpus.size(); ++i) {
        const Gpu &gpu = inventory.gpus[i];
        list.rows.push_back({std::uint64_t{i}, to_text(gpu.address), known(render_name(gpu)),
                             known(gpu.card ? gpu.card->name : ""), known(name_of(gpu.kfd.gfx)),
                             is_integrated(gpu) ? "integrated" : "discrete", known(memory_text(gpu)),
                             known(uuid_text(gpu.kfd.unique_id)), known(override_text(gpu.kfd.gfx)),
                             availability.state(i)});
    }
    return list;
}

} // namespace ogh::amd_kfd
