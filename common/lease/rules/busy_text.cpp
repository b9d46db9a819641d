// SPDX-License-Identifier: Apache-2.0
#include "lease/rules/busy_text.h"

#include <algorithm>
#include <vector>

#include "base/duration.h"
#include "base/text.h"
#include "lease/state/boot_clock.h"

namespace ogh {

namespace {

std::string since(std::int64_t seconds)
{
    return " since " + utc_text(seconds);
}

std::string by(const Holder &holder, std::int64_t seconds)
{
    return " by container " + quote(holder.container) + since(seconds);
}

/** What is to be known of a holder besides, if anything. */
std::string state_of(const Holder &holder, const Preemptibles &preemptibles)
{
    const auto found = preemptibles.find(holder.init);
    if (found == preemptibles.end())
        return "";
    const Preemptible &preemptible = found->second;
    if (preemptible.why == PreemptReason::NeverStarted)
        return " (never started)";
    const std::int64_t for_ns = boottime_ns() - preemptible.from_ns;
    return preemptible.why == PreemptReason::HeldTooLong && for_ns >= 0
               ? " (may be ended" + since(unix_time() - for_ns / 1'000'000'000) + ")"
               : "";
}

std::string sharers_text(const std::optional<unsigned> &most)
{
    return most ? " (by " + std::to_string(*most) + " at most)" : "";
}

std::string joined(const std::vector<std::string> &parts, const char *separator)
{
    std::string text;
    for (const std::string &part : parts)
        text += (text.empty() ? "" : separator) + part;
    return text;
}

/** What is held of `key`, for a message: how, and by whom. */
void add_holders(const LeaseState &state, const Obstacles &obstacles, const LeaseKey &key,
                 const Preemptibles &preemptibles, std::vector<std::string> &why)
{
    for (const Allocation &allocation : state.allocations) {
        const auto device = std::find_if(allocation.devices.begin(), allocation.devices.end(),
                                         [&](const LeasedDevice &held) { return overlap(held.key, key); });
        if (device == allocation.devices.end() || !obstacles.holders.contains(allocation.holder.init))
            continue;
        why.push_back("held " + std::string(device->mode == LeaseMode::Exclusive ? "exclusively" : "shared") +
                      sharers_text(device->max_sharers) + by(allocation.holder, allocation.since) +
                      state_of(allocation.holder, preemptibles));
    }
}

bool asks_for(const Demand &demand, const LeaseKey &key)
{
    return overlaps_one_of(demand.fixed, key) || overlaps_one_of(demand.candidates, key);
}

std::string why_not(const LeaseState &state, const Obstacles &obstacles, const LeaseKey &key,
                    const Preemptibles &preemptibles)
{
    std::vector<std::string> why;
    for (const Drain &drain : state.drains) {
        if (overlap(drain.key, key))
            why.push_back("drained by " + (drain.by.empty() ? "root" : quote(drain.by)) + since(drain.since) +
                          (drain.reason.empty() ? "" : " (" + quote(drain.reason) + ")"));
    }
    add_holders(state, obstacles, key, preemptibles, why);
    for (const Ticket &ticket : state.tickets) {
        if (obstacles.tickets.contains(ticket.number) && asks_for(ticket.demand, key))
            why.push_back("waited for" + by(ticket.holder, ticket.since));
    }
    return joined(why, ", ");
}

/** What the quota allows, who has how much of it, and who came earlier. */
std::string quota_text(const LeaseState &state, const Obstacles &obstacles, const Demand &demand,
                       const Quota &quota, const Preemptibles &preemptibles)
{
    std::vector<std::string> why;
    if (demand.fixed.size() + demand.any > quota.most)
        why.push_back(std::to_string(demand.fixed.size() + demand.any) + " are asked for");
    for (const Allocation &allocation : state.allocations) {
        const auto size =
            std::count_if(allocation.devices.begin(), allocation.devices.end(),
                          [&](const LeasedDevice &device) { return has_quota(device.quotas, quota.name); });
        if (size != 0 && obstacles.holders.contains(allocation.holder.init))
            why.push_back(std::to_string(size) + " held" + by(allocation.holder, allocation.since) +
                          state_of(allocation.holder, preemptibles));
    }
    for (const Ticket &ticket : state.tickets) {
        if (obstacles.tickets.contains(ticket.number) && has_quota(ticket.demand.quotas, quota.name))
            why.push_back("waited for" + by(ticket.holder, ticket.since));
    }
    return "the quota " + quote(quota.name) + " allows " + std::to_string(quota.most) +
           " at once: " + joined(why, ", ");
}

/** What would have been enough. */
std::string wanted_text(const Decision &decision, const Demand &demand)
{
    const std::string mode = demand.mode == LeaseMode::Exclusive ? "an exclusive" : "a shared";
    const std::string lease = mode + " lease" + sharers_text(demand.max_sharers);
    if (demand.any == 0)
        return lease + " needs all that is asked for";
    const auto is_in_the_way = [&](const LeaseKey &key) { return decision.obstacles.devices.contains(key); };
    const auto free =
        static_cast<size_t>(std::count_if(demand.candidates.begin(), demand.candidates.end(),
                                          [&](const LeaseKey &key) { return !is_in_the_way(key); }));
    return lease + " needs " + (demand.fixed.empty() ? "" : "what is named and ") + "any " +
           std::to_string(demand.any) + " of " + std::to_string(demand.candidates.size()) +
           (decision.obstacles.devices.empty() ? ""
                                               : ", and " + (free == 0 ? "none" : std::to_string(free)) +
                                                     (free > 1 ? " are free" : " is free"));
}

} // namespace

std::string busy_text(const LeaseState &state, const Decision &decision, const Demand &demand,
                      const NameDevice &name, const Preemptibles &preemptibles)
{
    std::vector<std::string> parts;
    for (const LeaseKey &key : decision.obstacles.devices)
        parts.push_back((name ? name(key) : key) + " is " +
                        why_not(state, decision.obstacles, key, preemptibles));
    for (const Quota &quota : demand.quotas) {
        if (decision.obstacles.quotas.contains(quota.name))
            parts.push_back(quota_text(state, decision.obstacles, demand, quota, preemptibles));
    }
    if (parts.empty())
        return "not as many devices as are asked for can be given";
    return "busy: " + wanted_text(decision, demand) + ": " + joined(parts, "; ");
}

} // namespace ogh
