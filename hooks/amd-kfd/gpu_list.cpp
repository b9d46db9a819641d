// SPDX-License-Identifier: Apache-2.0
#include "gpu_list.h"

#include "candidates.h"
#include "gfx_version.h"
#include "offer.h"
#include "table.h"

namespace ogh::amd_kfd {

namespace {

std::string memory_text(const Gpu &gpu)
{
    constexpr unsigned mebibyte = 1U << 20U;
    return gpu.memory ? std::to_string(*gpu.memory / mebibyte) + " MiB" : "";
}

} // namespace

std::string list_gpus(const Inventory &inventory, const SelectionPolicy &policy)
{
    const auto list = candidates(inventory);
    const Offer offer(list, policy);
    Table rows{{"INDEX", "ADDRESS", "RENDER", "CARD", "GFX", "TYPE", "VRAM", "ID", "HINT", "STATE"}};
    for (size_t i = 0; i < list.size(); ++i) {
        const Gpu &gpu = inventory.gpus[i];
        std::vector<std::string> row{
            render_name(gpu),          gpu.card ? gpu.card->name : "",
            name_of(gpu.kfd.gfx),      is_integrated(gpu) ? "integrated" : "discrete",
            memory_text(gpu),          uuid_text(gpu.kfd.unique_id),
            override_text(gpu.kfd.gfx)};
        for (std::string &cell : row)
            cell = or_unknown(cell);
        row.insert(row.begin(), {std::to_string(i), to_text(gpu.address)});
        row.push_back(offer.state(i));
        rows.push_back(std::move(row));
    }
    return to_text(rows);
}

} // namespace ogh::amd_kfd
