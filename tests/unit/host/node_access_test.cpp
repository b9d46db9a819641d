// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "host/node_access.h"

BOOST_AUTO_TEST_SUITE(node_access)

using namespace ogh;

namespace {

NodeAccess access_to(const std::string &path, const DeviceNumber &number)
{
    return read_node_access(Sysroot("/"), path, number);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_node_counts_by_its_number)
{
    BOOST_TEST((access_to("/dev/null", {1, 3}) == NodeAccess::Open));
    BOOST_TEST((access_to("/dev/null", {1, 5}) == NodeAccess::NoNode));
    BOOST_TEST((access_to("/dev", {0, 0}) == NodeAccess::NoNode));
    BOOST_TEST((access_to("/dev/no-such-node", {1, 3}) == NodeAccess::NoNode));
}

BOOST_AUTO_TEST_CASE(what_is_in_the_way_is_said_with_the_node)
{
    BOOST_TEST(obstacle_text(NodeAccess::Open, "/dev/x").empty());
    for (const NodeAccess access : {NodeAccess::DeniedByCgroup, NodeAccess::DeniedByMode, NodeAccess::NoNode})
        BOOST_TEST(obstacle_text(access, "/dev/x").find("'/dev/x'") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
