// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_counts.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <tuple>

#include "base/error.h"
#include "base/file.h"

namespace ogh {

namespace {

using Words = std::array<std::uint64_t, sizeof(LeaseCounts) / sizeof(std::uint64_t)>;

const std::string &counts_file()
{
    static const std::string name = "counts-" + std::to_string(std::tuple_size_v<Words>);
    return name;
}

std::uint64_t unsigned_of(std::int64_t ns)
{
    return static_cast<std::uint64_t>(std::max(ns, std::int64_t{0}));
}

} // namespace

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

void LeaseCounts::add_refusal(std::string_view hook, int status)
{
    const auto *const place = std::find(hooks.begin(), hooks.end(), hook);
    if (place != hooks.end())
        ++refusals.at(static_cast<size_t>(place - hooks.begin())).at(static_cast<size_t>(status));
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

void count(const LeaseDirectory &directory, const LeaseCounts &more) noexcept
try {
    const UniqueFd file = directory.open_private(counts_file().c_str(), O_RDWR);
    // In memory that a full filesystem has no page for this process would end.
    if (::fallocate(file.get(), 0, 0, sizeof(Words)) != 0)
        return;
    void *const memory = ::mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED)
        return;
    auto *word = static_cast<std::uint64_t *>(memory);
    for (const std::uint64_t number : std::bit_cast<Words>(more)) {
        if (number != 0)
            std::atomic_ref(*word).fetch_add(number, std::memory_order_relaxed);
        ++word;
    }
    ::munmap(memory, sizeof(Words));
} catch (const std::exception &) {
    return;
}

void count_takeover(const LeaseDirectory &directory) noexcept
{
    LeaseCounts one;
    one.takeovers = 1;
    count(directory, one);
}

void count_revocation(const LeaseDirectory &directory) noexcept
{
    LeaseCounts one;
    one.revocations = 1;
    count(directory, one);
}

LeaseCounts read_counts(const LeaseDirectory &directory)
{
    Words words{};
    try {
        const UniqueFd file = directory.open_private(counts_file().c_str(), O_RDONLY);
        const std::string text = read_all(file.get(), sizeof(Words), "the counts of the leases");
        std::memcpy(words.data(), text.data(), text.size());
    } catch (const SystemError &error) {
        if (error.error_number() != ENOENT)
            throw;
    }
    return std::bit_cast<LeaseCounts>(words);
}

void forget_counts(const LeaseDirectory &directory)
{
    directory.remove(counts_file().c_str());
}

} // namespace ogh
