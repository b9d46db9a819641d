// SPDX-License-Identifier: Apache-2.0
#include "lease/state/lease_state.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"

namespace ogh {

namespace {

std::uint64_t unsigned_of(std::int64_t ns)
{
    return static_cast<std::uint64_t>(std::max(ns, std::int64_t{0}));
}

bool exclude_each_other(const DeviceUse &a, const DeviceUse &b)
{
    return a.allocation != b.allocation && conflict(a.device->mode, b.device->mode) &&
           overlap(a.device->key, b.device->key);
}

} // namespace

LeaseKey gpu_lease_key(const std::string &vendor, const PciAddress &address)
{
    return vendor + ":" + to_text(address);
}

bool covers(const LeaseKey &whole, const LeaseKey &part)
{
    return part.starts_with(whole) && (part.size() == whole.size() || part[whole.size()] == '/');
}

bool overlap(const LeaseKey &a, const LeaseKey &b)
{
    return covers(a, b) || covers(b, a);
}

bool overlaps_one_of(const std::vector<LeaseKey> &keys, const LeaseKey &key)
{
    return std::any_of(keys.begin(), keys.end(), [&](const LeaseKey &other) { return overlap(other, key); });
}

bool has_quota(const Quotas &quotas, std::string_view name)
{
    return std::any_of(quotas.begin(), quotas.end(), [&](const Quota &quota) { return quota.name == name; });
}

std::vector<LeaseKey> keys_of(const std::vector<LeasedDevice> &devices)
{
    std::vector<LeaseKey> keys;
    for (const LeasedDevice &device : devices)
        keys.push_back(device.key);
    return keys;
}

std::set<ProcessId> inits_of(const std::vector<Allocation> &allocations)
{
    std::set<ProcessId> inits;
    for (const Allocation &allocation : allocations)
        inits.insert(allocation.holder.init);
    return inits;
}

DeviceUses uses_of(const LeaseState &state)
{
    DeviceUses uses;
    for (const Allocation &allocation : state.allocations) {
        for (const LeasedDevice &device : allocation.devices)
            uses.add(gpu_of(device.key), {&allocation, &device});
    }
    return uses;
}

std::string_view gpu_of(const LeaseKey &key)
{
    return std::string_view(key).substr(0, key.find('/'));
}

std::string_view vendor_in(const LeaseKey &key)
{
    return std::string_view(key).substr(0, key.find(':'));
}

std::string_view address_in(const LeaseKey &key)
{
    return std::string_view(key).substr(key.find(':') + 1);
}

std::string contradiction(const LeaseState &state)
{
    std::uint64_t last = 0; // numbers that are given out once must not come again
    for (const Ticket &ticket : state.tickets) {
        if (ticket.number <= last || ticket.number > state.numbers)
            return "a ticket has the number " + std::to_string(ticket.number);
        last = ticket.number;
    }
    for (const auto &[key, use] : state.last_used) {
        if (use > state.uses)
            return quote(key) + " was used after the last use";
    }
    for (const auto *const entries : {&state.allocations, &state.observers}) {
        std::set<ProcessId> inits;
        for (const Allocation &entry : *entries) {
            if (!inits.insert(entry.holder.init).second)
                return "the process " + std::to_string(entry.holder.init.pid) + " has two entries";
        }
    }
    for (const auto &[gpu, uses] : uses_of(state)) {
        // Whoever shares is in nobody's way but that of an exclusive one, of which there are few.
        for (const DeviceUse &one : uses) {
            if (one.device->mode != LeaseMode::Exclusive)
                continue;
            for (const DeviceUse &other : uses) {
                if (exclude_each_other(one, other))
                    return quote(one.device->key) + " is held exclusively, and by another one too";
            }
        }
    }
    return "";
}

void LeaseCounts::add_grant(std::int64_t waited)
{
    const double seconds = static_cast<double>(waited) / 1e9;
    const auto *const bound = std::lower_bound(wait_bounds_s.begin(), wait_bounds_s.end(), seconds);
    ++grants;
    ++waits.at(static_cast<size_t>(bound - wait_bounds_s.begin()));
    waited_ns += unsigned_of(waited);
}

void LeaseCounts::add_time(const ByVendor &devices, std::int64_t ns)
{
    for (size_t vendor = 0; vendor < devices.size(); ++vendor)
        device_ns.at(vendor) += devices.at(vendor) * unsigned_of(ns);
}

LeaseCounts::ByVendor devices_by_vendor(const Allocation &allocation)
{
    const auto &vendors = LeaseCounts::vendors;
    LeaseCounts::ByVendor devices{};
    for (const LeasedDevice &device : allocation.devices) {
        const auto *const place = std::find(vendors.begin(), vendors.end() - 1, vendor_in(device.key));
        ++devices.at(static_cast<size_t>(place - vendors.begin()));
    }
    return devices;
}

} // namespace ogh
