// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "systemd/unit_devices.h"

BOOST_AUTO_TEST_SUITE(unit_devices)

using namespace ogh;

namespace {

const std::vector<std::string> scopes = {"/machine.slice/libpod-4f.scope"};

UnitDevices scope()
{
    return {"libpod-4f.scope", scopes[0], "strict", {}};
}

} // namespace

BOOST_AUTO_TEST_CASE(the_scope_of_the_containers_cgroup_is_its_own)
{
    BOOST_TEST(is_containers_own(scope(), scopes));
    BOOST_TEST(is_containers_own(scope(), {"/other.scope", scopes[0]}));
}

BOOST_AUTO_TEST_CASE(a_unit_that_is_no_scope_is_not_whatever_its_cgroup)
{
    for (const char *id : {"worker.service", "machine.slice", "x.scope.service", "scope", ""}) {
        UnitDevices unit = scope();
        unit.id = id;
        BOOST_TEST(!is_containers_own(unit, scopes), id);
    }
}

BOOST_AUTO_TEST_CASE(a_scope_of_another_cgroup_is_not)
{
    for (const char *cgroup : {"", "/", "/machine.slice", "/machine.slice/libpod-4f.scope/container",
                               "/machine.slice/libpod-4f.scope/", "machine.slice/libpod-4f.scope"}) {
        UnitDevices unit = scope();
        unit.control_group = cgroup;
        BOOST_TEST(!is_containers_own(unit, scopes), cgroup);
    }
    BOOST_TEST(!is_containers_own(scope(), {}));
}

BOOST_AUTO_TEST_CASE(a_policy_of_auto_without_devices_restricts_nothing)
{
    UnitDevices unit = scope();
    BOOST_TEST(restricts_devices(unit));
    unit.device_policy = "closed";
    BOOST_TEST(restricts_devices(unit));
    unit.device_policy = "auto";
    BOOST_TEST(!restricts_devices(unit));
    unit.device_allow = {{"/dev/null", "rw"}};
    BOOST_TEST(restricts_devices(unit));
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_named_by_number)
{
    const DeviceRules rules = {{DeviceRule::Type::Block, 8, 0, access_read},
                               {DeviceRule::Type::Char, 195, 0, access_read | access_write},
                               {DeviceRule::Type::Char, 195, 255, access_read | access_write | access_mknod}};
    const AllowedDevices all = {
        {"/dev/block/8:0", "r"}, {"/dev/char/195:0", "rw"}, {"/dev/char/195:255", "rwm"}};
    UnitDevices unit = scope();
    BOOST_TEST((missing_devices(unit, rules) == all));
    unit.device_allow = {{"/dev/char/195:0", "rwm"}, {"/dev/char/195:255", "rw"}, {"/dev/char/8:0", "r"}};
    BOOST_TEST((missing_devices(unit, rules) == AllowedDevices{all[0], all[2]}));
    unit.device_allow = all;
    BOOST_TEST(missing_devices(unit, rules).empty());
}

BOOST_AUTO_TEST_SUITE_END()
