// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "lease/device_use.h"
#include "lease/lease_state.h"

namespace ogh {

/** Whether `part` is that device or a part of it. */
bool covers(const LeaseKey &whole, const LeaseKey &part);

/** The candidates besides what is granted, of which no two overlap: where a part is one, the whole is none. */
std::vector<LeaseKey> eligible(const Demand &demand, const std::vector<LeaseKey> &granted);

/** Which of several free devices is the best: what the container has already; see decide() for the rest. */
class CandidateChoice final {
public:
    using HasIt = std::function<bool(const LeaseKey &)>;

    /** All of them outlive this. */
    CandidateChoice(const LeaseState &state, const DeviceUses &uses, const std::set<LeaseKey> &in_use,
                    HasIt has)
        : state_(state), uses_(uses), in_use_(in_use), has_(std::move(has))
    {
    }

    /** Adds as many of those that are free, the best ones; there are so many. @return see Decision::passed_by */
    std::vector<LeaseKey> take_best(std::vector<LeaseKey> free, unsigned count,
                                    std::vector<LeaseKey> &granted) const;

private:
    /** What speaks against a device: it ends containers at once, somebody uses it. The lower is the better. */
    using Doubts = std::pair<bool, bool>;

    [[nodiscard]] Doubts doubts_of(const LeaseKey &key) const;
    void take(std::vector<LeaseKey> free, const std::vector<Doubts> &doubts, unsigned count,
              std::vector<LeaseKey> &granted) const;
    [[nodiscard]] bool breaks_up_a_gpu(const LeaseKey &key, const std::vector<LeaseKey> &granted) const;

    const LeaseState &state_;
    const DeviceUses &uses_;
    const std::set<LeaseKey> &in_use_;
    HasIt has_;
};

} // namespace ogh
