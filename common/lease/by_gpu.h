// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ogh {

/** What belongs to devices, found by the GPU that they are of (gpu_of()): devices of others never overlap. */
template<typename Item> class ByGpu final {
public:
    void add(std::string_view gpu, Item item) { items_[gpu].push_back(std::move(item)); }

    /** All that was added for devices of that GPU, in that order. */
    [[nodiscard]] const std::vector<Item> &near(std::string_view gpu) const
    {
        static const std::vector<Item> nothing;
        const auto found = items_.find(gpu);
        return found == items_.end() ? nothing : found->second;
    }

    [[nodiscard]] auto begin() const { return items_.begin(); }
    [[nodiscard]] auto end() const { return items_.end(); }

private:
    std::unordered_map<std::string_view, std::vector<Item>> items_;
};

} // namespace ogh
