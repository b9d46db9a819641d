// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/plan/driver_tree.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_tree_record)

using namespace ogh::nvidia_devices;

BOOST_AUTO_TEST_CASE(it_can_be_read_back)
{
    TreeRecord each;
    each.capabilities.all = true;
    BOOST_TEST((parse_tree_record(to_text(each)) == each));
    each.capabilities.named = {Capability::Video, Capability::Mofed};
    BOOST_TEST((parse_tree_record(to_text(each)) == each));
    each.capabilities.all = false;
    each.minors = {0, 12};
    BOOST_TEST((parse_tree_record(to_text(each)) == each));
    BOOST_TEST(to_text(each) == "video,mofed\n0,12\n");
}

BOOST_AUTO_TEST_CASE(both_requests_count)
{
    const TreeRecord both = joined({{{Capability::Video}, false}, {1}}, {{{Capability::Ngx}, true}, {2}});
    BOOST_TEST((both == TreeRecord{{{Capability::Video, Capability::Ngx}, true}, {1, 2}}));
}

BOOST_AUTO_TEST_CASE(what_the_policy_withheld_stays_withheld)
{
    TreeRecord each{{{Capability::Gds}, true, {Capability::Graphics, Capability::Ngx}}, {3}};
    BOOST_TEST(to_text(each) == "all,gds-graphics-ngx\n3\n");
    BOOST_TEST((parse_tree_record(to_text(each)) == each));
    const CapabilityBits nothing;
    const auto withheld = [](const TreeRecord &one, const TreeRecord &other) {
        return joined(one, other).capabilities.withheld;
    };
    const TreeRecord some{{{}, true, {Capability::Ngx, Capability::Video}}};
    const TreeRecord named{{{Capability::Video}, false}};
    BOOST_TEST((withheld(each, named) == each.capabilities.withheld));
    BOOST_TEST((withheld(named, each) == each.capabilities.withheld));
    BOOST_TEST((withheld(each, some) == CapabilityBits{Capability::Ngx}));
    BOOST_TEST((withheld(each, {{{}, true}}) == nothing));
    BOOST_TEST((withheld({{{}, true}}, each) == nothing));
}

BOOST_AUTO_TEST_CASE(anything_else_is_nothing)
{
    for (const char *text :
         {"", "compute", "compute\n", "odd\n\n", "\n\n", "compute\n\n\n", "all-odd\n\n", "all-\n\n"})
        BOOST_TEST(!parse_tree_record(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
