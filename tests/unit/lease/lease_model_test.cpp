// SPDX-License-Identifier: Apache-2.0
//
// Random sequences of what may happen, against what must hold whatever happens. OGH_LEASE_STEPS makes them longer.
#include <cstdlib>
#include <optional>

#include <boost/test/unit_test.hpp>

#include "lease/rules/lease_rules.h"
#include "lease/state/lease_changes.h"
#include "lease/state/lease_file.h"
#include "support/lease_model.h"
#include "support/lease_reference.h"

BOOST_AUTO_TEST_SUITE(lease_model)

using namespace ogh;
using namespace ogh::test;

namespace {

/** A container, and what it waits for. */
struct Container {
    Holder holder;
    std::optional<Demand> waits;
    std::uint64_t ticket = 0;
    std::optional<Grant> last;
};

class Model final {
public:
    explicit Model(unsigned seed) : steps_(seed) {}

    void step()
    {
        using Kind = LeaseStep::Kind;
        now_ += 1;
        const LeaseStep step = steps_.next();
        while (containers_.size() < 12)
            containers_.push_back({{{++pids_, 1}, true, {}, "c"}, {}, 0, {}});
        Container &container = containers_[step.container % containers_.size()];
        if (step.kind == Kind::Ask || step.kind == Kind::AskAndWait)
            ask(container, step.demand, step.kind == Kind::AskAndWait);
        else if (step.kind == Kind::Crash)
            crash(step.container % containers_.size());
        else if (step.kind == Kind::Release && container.last && !container.waits)
            take_back(state_, *std::exchange(container.last, std::nullopt));
        else if (step.kind == Kind::Drain)
            drain(state_, {step.key, 1});
        else if (step.kind == Kind::Undrain)
            undrain_all();
        let_waiters_try();
        check();
    }

    /** Everybody ends, one after the other: each waiter gets its turn, and nothing is left. */
    void finish()
    {
        undrain_all();
        for (size_t rounds = 0; !containers_.empty() && rounds < 1000; ++rounds) {
            let_waiters_try();
            const auto idle = std::find_if(containers_.begin(), containers_.end(),
                                           [](const Container &container) { return !container.waits; });
            BOOST_TEST_REQUIRE((idle != containers_.end()), "nobody gets on: all wait");
            crash(static_cast<size_t>(idle - containers_.begin()));
        }
        BOOST_TEST(state_.allocations.empty());
        BOOST_TEST(state_.tickets.empty());
    }

    unsigned grants = 0;
    unsigned waits = 0;
    unsigned passed_by = 0; ///< grants beside earlier ones that wait for a quota

private:
    [[nodiscard]] bool holds(const Container &container) const
    {
        return std::any_of(
            state_.allocations.begin(), state_.allocations.end(),
            [&](const Allocation &allocation) { return allocation.holder.init == container.holder.init; });
    }

    void ask(Container &container, const Demand &demand, bool may_wait)
    {
        if (container.waits)
            return;
        const Decision decision = decide(state_, {container.holder.init, demand, 0}, now_);
        check_decision(container, demand, decision, 0);
        if (decision.granted) {
            grant(container, demand, *decision.granted, 0);
        } else if (may_wait && !decision.is_hopeless && !holds(container)) {
            BOOST_TEST(!(decision.obstacles.holders.empty() && decision.obstacles.tickets.empty()),
                       "who waits has somebody to wait for");
            container.ticket = queue(state_, {0, {}, container.holder, demand, now_ + 1'000'000, 0});
            container.waits = demand;
            ++waits;
        }
    }

    void grant(Container &container, const Demand &demand, const std::vector<LeaseKey> &granted,
               std::uint64_t ticket)
    {
        BOOST_TEST(granted.size() == demand.fixed.size() + demand.any); // all
        Ticket request;
        request.number = ticket;
        request.demand = demand;
        container.last = enter(state_, container.holder, request, granted, now_);
        container.waits.reset();
        container.ticket = 0;
        ++grants;
    }

    /** What is given may be given, and what could be is; so nobody is overtaken but by who is in its way anyway. */
    void check_decision(const Container &container, const Demand &demand, const Decision &decision,
                        std::uint64_t number)
    {
        const LeaseReference reference(state_, now_);
        const Claim claim{container.holder.init, demand, number};
        if (decision.granted)
            BOOST_TEST(reference.may_have(claim, *decision.granted), "given against the rules");
        else if (!holds(container))
            BOOST_TEST(!reference.may_have_some(claim), "not given, and nothing is in the way");
        passed_by +=
            decision.granted && !holds(container) && passes_one_over(claim, *decision.granted) ? 1U : 0U;
    }

    /** Whether one that came earlier wants some of it, and waits for a quota. */
    bool passes_one_over(const Claim &claim, const std::vector<LeaseKey> &granted) const
    {
        const LeaseReference reference(state_, now_);
        return std::any_of(state_.tickets.begin(), state_.tickets.end(), [&](const Ticket &ticket) {
            return (claim.ticket == 0 || ticket.number < claim.ticket) && reference.waits_for_quota(ticket) &&
                   std::any_of(granted.begin(), granted.end(), [&](const LeaseKey &key) {
                       return LeaseReference::touches(ticket.demand, key);
                   });
        });
    }

    /** In any order, as processes wake: here the last first. */
    void let_waiters_try()
    {
        for (bool again = true; again;) {
            again = false;
            for (size_t i = containers_.size(); i-- > 0;)
                again = let_try(containers_[i]) || again;
        }
    }

    bool let_try(Container &container)
    {
        if (!container.waits)
            return false;
        const Demand demand = *container.waits;
        const std::uint64_t number = container.ticket;
        const Decision decision = decide(state_, {container.holder.init, demand, number}, now_);
        check_decision(container, demand, decision, number);
        if (decision.granted)
            grant(container, demand, *decision.granted, number);
        if (decision.is_hopeless) {
            remove_ticket(state_, number);
            container.waits.reset();
        }
        return decision.granted || decision.is_hopeless;
    }

    void crash(size_t index)
    {
        remove_holder(state_, containers_[index].holder.init);
        remove_ticket(state_, containers_[index].ticket);
        containers_.erase(containers_.begin() + static_cast<std::ptrdiff_t>(index));
    }

    void undrain_all()
    {
        while (!state_.drains.empty())
            undrain(state_, LeaseKey(state_.drains.front().key));
    }

    void check() const
    {
        BOOST_TEST(contradiction(state_) == "");
        const LeaseReference reference(state_, now_);
        for (const Quota &quota : {Quota{"one", 1}, Quota{"two", 2}, Quota{"three", 3}})
            BOOST_TEST(reference.held(quota.name) <= quota.most, quota.name);
        BOOST_TEST(reference.no_limit_is_broken());
        // No lost ticket, no lost device: all that there is belongs to somebody who is there.
        size_t waiting = 0;
        size_t allocation = 0;
        for (const Container &container : containers_) {
            waiting += container.waits ? 1U : 0U;
            allocation += holds(container) ? 1U : 0U;
        }
        BOOST_TEST(state_.tickets.size() == waiting);
        BOOST_TEST(state_.allocations.size() == allocation);
        // The first of the queue waits for somebody who has something, not for nobody.
        if (!state_.tickets.empty()) {
            const Ticket &first = state_.tickets.front();
            const Decision decision = decide(state_, {first.holder.init, first.demand, first.number}, now_);
            BOOST_TEST((!decision.obstacles.holders.empty() && decision.obstacles.tickets.empty()));
        }
    }

    LeaseSteps steps_;
    LeaseState state_;
    std::vector<Container> containers_;
    pid_t pids_ = 0;
    std::int64_t now_ = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(whatever_happens_the_rules_hold)
{
    const char *asked = std::getenv("OGH_LEASE_STEPS");
    const int steps =
        asked != nullptr ? std::atoi(asked) : 20'000; // NOLINT(cert-err34-c): of whoever runs the test
    constexpr int per_seed = 1000;
    unsigned grants = 0;
    unsigned waits = 0;
    unsigned passed_by = 0;
    for (int seed = 0; seed < steps / per_seed; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            Model model(static_cast<unsigned>(seed));
            for (int step = 0; step < per_seed; ++step)
                model.step();
            model.finish();
            grants += model.grants;
            waits += model.waits;
            passed_by += model.passed_by;
        }
    }
    BOOST_TEST_MESSAGE(grants << " grants, " << waits << " waits, " << passed_by << " past who was over");
    BOOST_TEST(grants > waits);
    BOOST_TEST(waits > static_cast<unsigned>(steps / 100));
    BOOST_TEST(passed_by > static_cast<unsigned>(steps / 400));
}

BOOST_AUTO_TEST_SUITE_END()
