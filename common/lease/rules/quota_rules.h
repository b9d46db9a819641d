// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lease/rules/claim.h"
#include "lease/state/lease_state.h"

namespace ogh {

/**
 * The quotas of a host at one moment: who has how much of each, and who waits for it. Pure; it lasts no longer than the
 * state.
 *
 * - A container uses one of a quota up for each device that it has by it, shared or not; a part of another one that it has
 *   is none besides.
 * - Requests with the same quota come first come first served: who came earlier has its part kept for it. Where their limits
 *   differ, the least of them counts.
 * - Whoever waits for a quota is in the way of nobody but those that have the same one.
 */
class QuotaRules final {
public:
    /**
     * @param now CLOCK_BOOTTIME, ns; a ticket whose deadline is not after that does not count
     * @param last the ticket behind which nobody is of interest
     */
    QuotaRules(const LeaseState &state, std::int64_t now, std::uint64_t last);

    /**
     * What keeps the request from room in its quotas. A choice that it leaves takes what is not counted yet.
     * @param is_brief only so many, the nearest that came earlier first, as are enough for that
     */
    [[nodiscard]] Obstacles obstacles(const Claim &claim, bool is_brief = false) const;

    /** Whether it asks for more than one of its quotas allows at once, with what the container has by it. */
    [[nodiscard]] bool is_too_much(const Claim &claim) const;

    /** Whether the request of that ticket waits for a quota. */
    [[nodiscard]] bool is_over(std::uint64_t ticket) const { return over_.contains(ticket); }

private:
    /** A device that a container has by a quota. */
    struct Held {
        ProcessId init;
        const LeaseKey *key = nullptr;
    };

    /** A request that a quota keeps room for. */
    struct Queued {
        const Ticket *ticket;
        size_t further; ///< devices
        size_t whole;   ///< with what its container has by the quota
        unsigned most;
    };

    struct Use {
        std::vector<Held> devices;
        size_t held = 0;           ///< of these, without what is in another one
        std::vector<Queued> queue; ///< in their order

        /** Those of one container. */
        [[nodiscard]] std::vector<const LeaseKey *> of(const ProcessId &init) const;
    };

    void add_holder(const Allocation &allocation);
    void add_tickets(const LeaseState &state, std::uint64_t last);
    [[nodiscard]] const Use &use_of(const std::string &quota) const;
    [[nodiscard]] bool counts(const Queued &other, const Claim &claim, size_t own) const;
    [[nodiscard]] bool is_used_up(const Claim &claim, const Quota &quota) const;
    void add_enough(const Claim &claim, const Quota &quota, Obstacles &found) const;

    std::int64_t now_;
    std::map<std::string, Use, std::less<>> uses_;
    std::set<std::uint64_t> over_;
};

} // namespace ogh
