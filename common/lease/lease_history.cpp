// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_history.h"

#include <set>

#include "base/utc_text.h"

namespace ogh {

namespace {

/** Of one of the lists of both states. @param lease what is said of it; "": nothing */
void add_ends_of(History &history, const std::vector<Allocation> &before,
                 const std::vector<Allocation> &after, std::string_view lease, const KnownEnds &how,
                 std::int64_t now)
{
    std::set<ProcessId> left;
    for (const Allocation &allocation : after)
        left.insert(allocation.holder.init);
    for (const Allocation &allocation : before) {
        if (left.contains(allocation.holder.init))
            continue;
        const auto known = how.find(allocation.holder.init);
        std::vector<LeaseKey> keys;
        for (const LeasedDevice &device : allocation.devices)
            keys.push_back(device.key);
        HistoryLine line = history.begin("ended");
        line.add("container", allocation.holder.container);
        line.add("gpus", keys);
        if (!lease.empty())
            line.add("lease", lease);
        line.add("since", utc_text(allocation.since));
        line.add_time("seconds", now - allocation.taken_ns);
        line.add("how", known == how.end() ? "ended" : known->second);
        history.add(std::move(line));
    }
}

} // namespace

void add_grant(History &history, const LeaseRequest &request, std::string_view lease,
               const std::vector<LeaseKey> &devices, std::int64_t waited_ns)
{
    HistoryLine line = history.begin("granted");
    line.add("container", request.container);
    add_label(line, request.label);
    line.add("gpus", devices);
    line.add("lease", lease);
    line.add_time("waited", waited_ns);
    history.add(std::move(line));
}

void add_late(History &history, const std::vector<std::string> &containers)
{
    for (const std::string &container : containers) {
        HistoryLine line = history.begin("late");
        line.add("container", container);
        line.add("how", "began too late: its devices had been taken away");
        history.add(std::move(line));
    }
}

void add_ends(History &history, const LeaseState &before, const LeaseState &after, const KnownEnds &how,
              std::int64_t now)
{
    add_ends_of(history, before.allocations, after.allocations, "", how, now);
    add_ends_of(history, before.observers, after.observers, observers_lease, how, now);
}

} // namespace ogh
