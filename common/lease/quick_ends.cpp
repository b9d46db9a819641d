// SPDX-License-Identifier: Apache-2.0
#include "lease/quick_ends.h"

#include <algorithm>
#include <string_view>

namespace ogh {

namespace {

/** FNV-1a: the file is to be short, and nothing comes of two containers that have the same. */
std::uint64_t hash_of(std::string_view container)
{
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char letter : container)
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    return hash;
}

void note_quick_end(std::vector<std::uint64_t> &ends, std::uint64_t container)
{
    std::erase(ends, container);
    ends.push_back(container);
    if (ends.size() > enough_quick_ends)
        ends.erase(ends.begin());
}

} // namespace

bool ends_at_once(const LeaseState &state, const LeaseKey &key)
{
    const auto found = state.quick_ends.find(key);
    return found != state.quick_ends.end() && found->second.size() >= enough_quick_ends;
}

void note_quick_ends(const LeaseState &before, const std::map<ProcessId, std::string> &known,
                     std::int64_t now, LeaseState &state, std::set<ProcessId> &noted)
{
    std::set<ProcessId> left;
    for (const Allocation &allocation : state.allocations)
        left.insert(allocation.holder.init);
    for (const Allocation &allocation : before.allocations) {
        const ProcessId &init = allocation.holder.init;
        const bool is_quick = now - allocation.taken_ns <= quick_end_ns;
        if (left.contains(init) || !noted.insert(init).second || (is_quick && known.contains(init)))
            continue;
        for (const LeasedDevice &device : allocation.devices) {
            if (!is_quick)
                state.quick_ends.erase(device.key);
            else if (state.last_used.contains(device.key))
                note_quick_end(state.quick_ends[device.key], hash_of(allocation.holder.container));
        }
    }
}

} // namespace ogh
