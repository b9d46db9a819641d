// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "kernel/user_namespace.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(user_namespace)

using namespace ogh;
using ogh::test::failure_of;

BOOST_AUTO_TEST_CASE(an_ordinary_map_is_one_range)
{
    const IdMap map = IdMap::parse("         0     100000      65536\n");
    BOOST_TEST(map.root().value() == 100000U);
    BOOST_TEST(map.has(100000));
    BOOST_TEST(map.has(165535));
    BOOST_TEST(!map.has(165536));
    BOOST_TEST(!map.has(0));
    BOOST_TEST(!map.has(99999));
}

BOOST_AUTO_TEST_CASE(concourse_maps_root_to_the_highest_id_and_the_rest_to_itself)
{
    const IdMap map = IdMap::parse("0 4294967294 1\n1 1 4294967293\n");
    BOOST_TEST(map.root().value() == 4294967294U);
    BOOST_TEST(map.has(4294967294U));
    BOOST_TEST(map.has(1000));
    BOOST_TEST(!map.has(0));
}

BOOST_AUTO_TEST_CASE(a_map_may_have_no_root)
{
    BOOST_TEST(!IdMap::parse("1 1000 1\n").root().has_value());
    BOOST_TEST(!IdMap::parse("").root().has_value());
    BOOST_TEST(!IdMap::parse("").has(0));
}

BOOST_AUTO_TEST_CASE(what_is_no_map_is_refused)
{
    for (const char *text : {"x", "0 1", "0 1 2 3", "0 1 -", "99999999999 0 1"})
        BOOST_TEST((failure_of([&] { IdMap::parse(text); }).kind == ErrorKind::BrokenHost), text);
}

BOOST_AUTO_TEST_CASE(the_containers_root_writes_as_owner_as_others_or_over_mapped_ids)
{
    const auto map = [] { return IdMap::parse("0 100000 65536\n"); };
    const UserNamespace container{UniqueFd(), map(), map()};
    BOOST_TEST(!container.root_may_write(0, 0, 0755));
    BOOST_TEST(container.root_may_write(0, 0, 0777));
    BOOST_TEST(container.root_may_write(100000, 0, 0755));
    BOOST_TEST(!container.root_may_write(100000, 0, 0555));
    BOOST_TEST(container.root_may_write(100001, 100001, 0700));
    BOOST_TEST(!container.root_may_write(100001, 0, 0770));
}

BOOST_AUTO_TEST_CASE(ones_own_user_namespace_is_none)
{
    BOOST_TEST(!user_namespace_of(::getpid()).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
