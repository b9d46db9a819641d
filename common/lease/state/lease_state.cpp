// SPDX-License-Identifier: Apache-2.0
#include "lease/state/lease_state.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"

namespace ogh {

namespace {

bool is_part_of(std::string_view part, std::string_view whole)
{
    return part.size() > whole.size() && part.starts_with(whole) && part[whole.size()] == '/';
}

std::uint64_t unsigned_of(std::int64_t ns)
{
    return static_cast<std::uint64_t>(std::max(ns, std::int64_t{0}));
}

} // namespace

LeaseKey gpu_lease_key(const std::string &vendor, const PciAddress &address)
{
    return vendor + ":" + to_text(address);
}

bool overlap(const LeaseKey &a, const LeaseKey &b)
{
    return a == b || is_part_of(a, b) || is_part_of(b, a);
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
