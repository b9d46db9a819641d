// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "lease/leases.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(leases)

using namespace ogh;
using ogh::test::failure_of;

namespace {

LeaseRequest request()
{
    LeaseRequest asked;
    asked.demand = {{"n:0"}, 1, {"n:0/1", "n:1", "n:2"}, LeaseMode::Shared};
    return asked;
}

} // namespace

BOOST_AUTO_TEST_CASE(without_leases_the_first_that_do_not_overlap_are_given_with_a_note)
{
    Notes notes;
    const Lease lease = take_if_possible(nullptr, request(), notes);
    BOOST_TEST((lease.devices() == std::vector<LeaseKey>{"n:0", "n:1"}));
    BOOST_TEST(notes.size() == 1);
    LeaseRequest too_many = request();
    too_many.demand.any = 3;
    const auto error = failure_of([&] { take_if_possible(nullptr, too_many, notes); });
    BOOST_TEST((error.kind == ErrorKind::Busy));
}

BOOST_AUTO_TEST_CASE(without_leases_one_that_is_asked_for_is_an_error)
{
    Notes notes;
    LeaseRequest asked = request();
    asked.is_explicit = true;
    const auto error = failure_of([&] { take_if_possible(nullptr, asked, notes); });
    BOOST_TEST((error.kind == ErrorKind::NotAvailable));
    BOOST_TEST(notes.empty());
}

BOOST_AUTO_TEST_CASE(without_leases_what_counts_them_is_an_error)
{
    Notes notes;
    LeaseRequest by_quota = request();
    by_quota.demand.quotas = {{"key:nightly", 9}};
    LeaseRequest by_limit = request();
    by_limit.demand.max_sharers = 2;
    for (const auto &[asked, words] : {std::pair(by_quota, "'key:nightly'"), {by_limit, "--max-sharers"}}) {
        const auto error = failure_of([&, &asked = asked] { take_if_possible(nullptr, asked, notes); });
        BOOST_TEST((error.kind == ErrorKind::NotAvailable));
        BOOST_TEST((error.says(words) && error.says("there can be none")), error.message);
    }
}

BOOST_AUTO_TEST_SUITE_END()
