// SPDX-License-Identifier: Apache-2.0
#include "lease/busy_text.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/utc_text.h"

namespace ogh {

namespace {

std::string since(std::int64_t seconds)
{
    return " since " + utc_text(seconds);
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
                 std::vector<std::string> &why)
{
    for (const Allocation &allocation : state.allocations) {
        const auto device = std::find_if(allocation.devices.begin(), allocation.devices.end(),
                                         [&](const LeasedDevice &held) { return overlap(held.key, key); });
        if (device == allocation.devices.end() || !obstacles.holders.contains(allocation.holder.init))
            continue;
        why.push_back("held " + std::string(device->mode == LeaseMode::Exclusive ? "exclusively" : "shared") +
                      " by container " + quote(allocation.holder.container) + since(allocation.since));
    }
}

bool asks_for(const Demand &demand, const LeaseKey &key)
{
    const auto is_it = [&](const LeaseKey &other) { return overlap(other, key); };
    return std::any_of(demand.fixed.begin(), demand.fixed.end(), is_it) ||
           std::any_of(demand.candidates.begin(), demand.candidates.end(), is_it);
}

std::string why_not(const LeaseState &state, const Obstacles &obstacles, const LeaseKey &key)
{
    std::vector<std::string> why;
    for (const Drain &drain : state.drains) {
        if (overlap(drain.key, key))
            why.push_back("drained by root" + since(drain.since));
    }
    add_holders(state, obstacles, key, why);
    for (const Ticket &ticket : state.tickets) {
        if (obstacles.tickets.contains(ticket.number) && asks_for(ticket.demand, key))
            why.push_back("waited for by container " + quote(ticket.holder.container) + since(ticket.since));
    }
    return joined(why, ", ");
}

} // namespace

std::string busy_text(const LeaseState &state, const Decision &decision, const Demand &demand,
                      const NameDevice &name)
{
    std::vector<std::string> devices;
    for (const LeaseKey &key : decision.obstacles.devices)
        devices.push_back((name ? name(key) : key) + " is " + why_not(state, decision.obstacles, key));
    const std::string mode = demand.mode == LeaseMode::Exclusive ? "an exclusive" : "a shared";
    if (devices.empty())
        return "not as many devices as are asked for can be given";
    return "not all can be given in " + mode + " lease: " + joined(devices, "; ");
}

} // namespace ogh
