// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_history.h"

#include <set>

#include "base/utc_text.h"
#include "lease/lease_counts.h"

namespace ogh {

void note_grant(const LeaseFolder &folder, History *history, const LeaseRequest &request,
                const std::vector<LeaseKey> &devices, std::int64_t waited_ns)
{
    LeaseCounts one;
    one.add_grant(waited_ns);
    count(folder, one);
    if (history == nullptr)
        return;
    HistoryLine line = history->begin("granted");
    line.add("container", request.container);
    add_label(line, request.label);
    line.add("gpus", devices);
    line.add("lease", request.demand.mode == LeaseMode::Exclusive ? "exclusive" : "shared");
    line.add_time("waited", waited_ns);
    history->add(std::move(line));
}

void add_ends(History &history, const LeaseState &before, const LeaseState &after, const KnownEnds &how,
              std::int64_t now)
{
    std::set<ProcessId> left;
    for (const Allocation &allocation : after.allocations)
        left.insert(allocation.holder.init);
    for (const Allocation &allocation : before.allocations) {
        if (left.contains(allocation.holder.init))
            continue;
        const auto known = how.find(allocation.holder.init);
        std::vector<LeaseKey> keys;
        for (const LeasedDevice &device : allocation.devices)
            keys.push_back(device.key);
        HistoryLine line = history.begin("ended");
        line.add("container", allocation.holder.container);
        line.add("gpus", keys);
        line.add("since", utc_text(allocation.since));
        line.add_time("seconds", now - allocation.taken_ns);
        line.add("how", known == how.end() ? "ended" : known->second);
        history.add(std::move(line));
    }
}

} // namespace ogh
