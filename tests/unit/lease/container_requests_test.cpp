// SPDX-License-Identifier: Apache-2.0
//
// Several requests of one container, by the rules and the changes that they lead to.
#include <boost/test/unit_test.hpp>

#include "lease/container_requests.h"
#include "lease/rules/lease_rules.h"
#include "lease/state/lease_changes.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(container_requests)

using namespace ogh;
using ogh::test::failure_of;

namespace {

using Keys = std::vector<LeaseKey>;

const Keys gpus{"n:0", "n:1", "n:2", "n:3"};

/** All of the keys that are not in `without`. */
Keys rest(const Keys &without)
{
    Keys keys = gpus;
    std::erase_if(keys, [&](const LeaseKey &key) {
        return std::find(without.begin(), without.end(), key) != without.end();
    });
    return keys;
}

LeaseRequest named(const Keys &keys)
{
    LeaseRequest request;
    request.demand = {keys, 0, {}, LeaseMode::Shared};
    request.others = rest(keys);
    return request;
}

LeaseRequest any(unsigned count, const std::string &who = "device")
{
    LeaseRequest request = named({});
    request.demand.any = count;
    request.demand.candidates = gpus;
    request.name = "n any:" + std::to_string(count) + " by " + who;
    return request;
}

/** Where the policy allows less it is any of them. */
LeaseRequest all(unsigned most = 0)
{
    LeaseRequest request = most == 0 ? named(gpus) : any(most);
    request.name = "n all";
    request.is_for_all = true;
    return request;
}

/** "3,all" where the policy allows two. */
LeaseRequest one_and_all_the_others()
{
    LeaseRequest request = all(1);
    request.demand.fixed = {"n:3"};
    request.demand.candidates = rest({"n:3"});
    return request;
}

/** As by a name of several, where the policy allows less. */
LeaseRequest of_a_kind(unsigned most)
{
    LeaseRequest request = any(most);
    request.name = "";
    return request;
}

struct Host {
    LeaseState state = {};
    Grant last = {};

    [[nodiscard]] RemainingRequest remaining(const LeaseRequest &request, pid_t pid = 1) const
    {
        return remaining_request(state, {pid, 1}, request);
    }

    /** What a request means now. */
    Keys take(const LeaseRequest &request, pid_t pid = 1)
    {
        const RemainingRequest further = remaining(request, pid);
        const Decision decision = decide(state, {{pid, 1}, further.demand, 0}, 100);
        BOOST_TEST_REQUIRE(decision.granted.has_value());
        Ticket ticket;
        ticket.demand = further.demand;
        last = enter(state, {{pid, 1}, true}, ticket, *decision.granted, 100);
        last.requests_before = note_request(state, {pid, 1}, further, *decision.granted);
        return *decision.granted;
    }

    /** What the container has. */
    [[nodiscard]] Keys has() const
    {
        Keys keys;
        for (const LeasedDevice &device : state.allocations.front().devices)
            keys.push_back(device.key);
        std::sort(keys.begin(), keys.end());
        return keys;
    }

    /** How many devices it has in the end, whatever the order. */
    static void expect(std::vector<LeaseRequest> requests, size_t count)
    {
        std::vector<size_t> order(requests.size());
        for (size_t i = 0; i < order.size(); ++i)
            order[i] = i;
        do {
            Host host;
            std::string said;
            for (const size_t i : order) {
                host.take(requests[i]);
                said +=
                    " " + (requests[i].name.empty() ? requests[i].demand.fixed.front() : requests[i].name);
            }
            BOOST_TEST(host.has().size() == count, "has " << host.has().size() << " by" << said);
        } while (std::next_permutation(order.begin(), order.end()));
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(requests_add_up_in_any_order)
{
    Host::expect({named({"n:0"}), any(1)}, 2);
    Host::expect({any(1), any(2)}, 3);
    Host::expect({any(1), any(2), named({"n:1"})}, 4);
    Host::expect({any(1), any(1, "container"), named({"n:0", "n:1"})}, 4);
    Host::expect({named({"n:0"}), named({"n:0", "n:1"})}, 2);
    Host::expect({all(), any(1), named({"n:2"})}, 4);
}

BOOST_AUTO_TEST_CASE(the_same_request_is_granted_once)
{
    Host host;
    const Keys first = host.take(any(2));
    host.take(named({"n:3"}));
    const LeaseState before = host.state;
    BOOST_TEST(host.take(any(2)) == first);
    BOOST_TEST((host.state == before));
    BOOST_TEST(host.take(named({"n:3"})) == Keys{"n:3"});
    BOOST_TEST((host.state == before));
}

BOOST_AUTO_TEST_CASE(another_container_has_requests_of_its_own)
{
    Host host;
    host.take(any(2));
    host.take(any(2), 2);
    BOOST_TEST(host.state.allocations.size() == 2U);
    BOOST_TEST(host.state.allocations.back().devices.size() == 2U);
}

BOOST_AUTO_TEST_CASE(what_is_named_afterwards_is_not_what_was_chosen)
{
    Host host;
    BOOST_TEST(host.take(any(1)) == Keys{"n:0"});
    BOOST_TEST((host.take(named({"n:0"})) == Keys{"n:0", "n:1"}));
    BOOST_TEST(host.take(any(1)) == Keys{"n:1"});
}

BOOST_AUTO_TEST_CASE(more_than_there_is)
{
    Host host;
    host.take(named({"n:0"}));
    const auto failure = failure_of([&] { host.take(any(4)); });
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.says("4 GPUs besides those that it has or names, and 3 are left"), failure.message);
    BOOST_TEST(failure_of([&] { host.take(named(gpus)); }).message == "");
    Host other;
    other.take(any(1));
    BOOST_TEST((failure_of([&] { other.take(named(gpus)); }).kind == ErrorKind::NotAvailable));
}

BOOST_AUTO_TEST_CASE(all_that_the_policy_allows_is_no_more_than_that)
{
    Host host;
    host.take(named({"n:3"}));
    host.take(all(2));
    BOOST_TEST((host.has() == Keys{"n:0", "n:3"}));
    BOOST_TEST((host.take(any(1)) == Keys{"n:0", "n:3"}));
    host.take(named({"n:0"}));
    BOOST_TEST((host.has() == Keys{"n:0", "n:3"}));
}

BOOST_AUTO_TEST_CASE(a_limit_is_looked_at_before_anything_is_granted_and_counts_what_would_be)
{
    Host host;
    host.take(named({"n:1"}));
    BOOST_TEST((host.take(any(1)) == Keys{"n:0"}));
    host.state.allocations.front().devices.push_back({.key = "other:0"}); // which does not count
    for (LeaseRequest request :
         {named({"n:1"}), named({"n:2"}), named({"n:0"}), named({"n:0", "n:2"}), any(1), any(1, "container"),
          any(2), all(1), all(2), all(3), all(), of_a_kind(2), of_a_kind(3), one_and_all_the_others()}) {
        Host after = host;
        after.take(request);
        const auto count = static_cast<unsigned>(after.has().size()) - 1;
        const auto look = [&] { static_cast<void>(host.remaining(request)); };
        request.counted = {"n"};
        request.max_devices = count;
        BOOST_TEST(failure_of(look).message == "");
        request.max_devices = count - 1;
        const auto failure = failure_of(look);
        BOOST_TEST((failure.kind == ErrorKind::Denied));
        BOOST_TEST(failure.says("would have " + std::to_string(count) + " GPUs, and --max-devices allows"),
                   failure.message);
    }
}

BOOST_AUTO_TEST_CASE(what_the_container_shares_is_of_all_that_the_policy_allows)
{
    Host host;
    host.take(named({"n:0"}));
    host.take(named({"n:0"}), 2);
    for (LeaseRequest request : {all(1), of_a_kind(1)}) {
        request.demand.mode = LeaseMode::Exclusive;
        request.max_devices = 1;
        const Decision decision = decide(host.state, {{1, 1}, host.remaining(request).demand, 0}, 100);
        BOOST_TEST(!decision.granted);
        BOOST_TEST((decision.obstacles.devices == std::set<LeaseKey>{"n:0"}));
    }
}

BOOST_AUTO_TEST_CASE(a_request_that_comes_to_nothing_is_forgotten)
{
    Host host;
    host.take(any(1));
    const LeaseState before = host.state;
    for (const LeaseRequest &request : {any(2), named({"n:0"}), all(1)}) {
        host.take(request);
        take_back(host.state, host.last);
        host.state.last_used = before.last_used;
        host.state.uses = before.uses;
        BOOST_TEST((host.state == before));
    }
}

BOOST_AUTO_TEST_SUITE_END()
