// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "build_config.h"
#include "lease/lease_directory.h"
#include "lease/lease_state.h"

namespace ogh {

/**
 * What has happened to the leases of a host since its boot, in numbers that only grow. They are in the file `counts-N`
 * beside the state, where N tells layouts apart: nothing but these members.
 */
struct LeaseCounts {
    static constexpr std::array wait_bounds_s{0.1, 1.0, 10.0, 60.0, 600.0, 3600.0};
    static constexpr auto vendors = std::to_array<std::string_view>({"amd", "nvidia", "other"});
    static constexpr auto hooks = std::to_array<std::string_view>({OGH_HOOK_NAMES});
    static constexpr size_t statuses = 7; ///< see ExitStatus

    using ByVendor = std::array<std::uint64_t, vendors.size()>;

    std::uint64_t grants = 0;
    std::uint64_t takeovers = 0;   ///< by which a container was ended
    std::uint64_t revocations = 0; ///< by which it lives on
    std::uint64_t waited_ns = 0;   ///< by those that were granted something
    std::array<std::uint64_t, wait_bounds_s.size() + 1>
        waits{};          ///< how many waited longer than the bound before
    ByVendor device_ns{}; ///< of one device, by leases that have ended
    std::array<std::array<std::uint64_t, statuses>, hooks.size()> refusals{};

    bool operator==(const LeaseCounts &) const = default;

    void add_grant(std::int64_t waited_ns);

    /** So many devices that somebody had for so long. */
    void add_time(const ByVendor &devices, std::int64_t ns);

    /** @param status that the hook ends with */
    void add_refusal(std::string_view hook, int status);
};

LeaseCounts::ByVendor devices_by_vendor(const Allocation &allocation);

/**
 * Adds to what is there, at once with others that do; whether they have the lock or not. What fails is nobody's error: no
 * container waits for numbers.
 */
void count(const LeaseDirectory &directory, const LeaseCounts &more) noexcept;
void count_takeover(const LeaseDirectory &directory) noexcept;
void count_revocation(const LeaseDirectory &directory) noexcept;

/** @return nothing but zeros where nothing has been counted. @throws Error (BrokenHost) */
LeaseCounts read_counts(const LeaseDirectory &directory);

/** Those of another boot, where the directory has outlived it. @throws SystemError (BrokenHost) */
void forget_counts(const LeaseDirectory &directory);

} // namespace ogh
