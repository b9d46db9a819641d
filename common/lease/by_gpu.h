// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "lease/lease_state.h"

namespace ogh {

/** What belongs to devices, found by the GPU that they are of: devices of others never overlap. Refers to the keys. */
template<typename Item> class ByGpu final {
public:
    void add(const LeaseKey &key, Item item) { items_[gpu_of(key)].push_back(std::move(item)); }

    /** All that was added for devices of the same GPU, in that order. */
    [[nodiscard]] const std::vector<Item> &near(const LeaseKey &key) const
    {
        static const std::vector<Item> nothing;
        const auto found = items_.find(gpu_of(key));
        return found == items_.end() ? nothing : found->second;
    }

    [[nodiscard]] auto begin() const { return items_.begin(); }
    [[nodiscard]] auto end() const { return items_.end(); }

private:
    std::unordered_map<std::string_view, std::vector<Item>> items_;
};

} // namespace ogh
