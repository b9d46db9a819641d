// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "lease/state/lease_state.h"

namespace ogh::test {

/** What may happen to the leases of a host. */
struct LeaseStep {
    enum class Kind { Ask, AskAndWait, Release, Crash, Drain, Undrain } kind;
    unsigned container; ///< which of the containers that there are, modulo their number
    Demand demand;
    LeaseKey key;
};

/** The same steps each time: few devices and many containers, so that they meet. */
class LeaseSteps final {
public:
    explicit LeaseSteps(unsigned seed) : random_(seed) {} // NOLINT(cert-msc51-cpp): the same each time

    LeaseStep next()
    {
        using Kind = LeaseStep::Kind;
        constexpr std::array kinds = {Kind::Ask,     Kind::Ask,    Kind::AskAndWait, Kind::AskAndWait,
                                      Kind::Release, Kind::Crash,  Kind::Crash,      Kind::Crash,
                                      Kind::Drain,   Kind::Undrain};
        const Kind kind = kinds[below(kinds.size())];
        const bool is_rare = kind == Kind::Drain && below(5) != 0;
        return {is_rare ? Kind::Undrain : kind, below(1000), demand(), device()};
    }

    unsigned below(size_t limit)
    {
        return static_cast<unsigned>(std::uniform_int_distribution<size_t>(0, limit - 1)(random_));
    }

private:
    static const std::vector<LeaseKey> &devices()
    {
        static const std::vector<LeaseKey> every = {"n:0",   "n:1",   "n:2",   "n:3",
                                                    "n:2/0", "n:2/1", "n:3/0", "n:3/1"};
        return every;
    }

    LeaseKey device() { return devices()[below(devices().size())]; }

    /** Each the same for everybody who has it. */
    Quotas quotas()
    {
        Quotas chosen;
        for (const Quota &quota : {Quota{"one", 1}, Quota{"three", 3}, Quota{"two", 2}}) {
            if (below(4) == 0)
                chosen.push_back(quota);
        }
        return chosen;
    }

    Demand demand()
    {
        Demand demand;
        demand.mode = below(2) == 0 ? LeaseMode::Shared : LeaseMode::Exclusive;
        const unsigned shape = below(4);
        for (unsigned count = shape == 0 ? 0 : 1 + below(2); count > 0; --count)
            demand.fixed.push_back(device());
        if (shape == 0 || shape == 3) {
            demand.any = 1 + below(2);
            for (unsigned count = 2 + below(4); count > 0; --count)
                demand.candidates.push_back(device());
        }
        demand.quotas = quotas();
        if (demand.mode == LeaseMode::Shared && below(3) == 0)
            demand.max_sharers = 1 + below(3);
        return demand;
    }

    std::mt19937 random_;
};

} // namespace ogh::test
