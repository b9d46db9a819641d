// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/request/mig_rights.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_mig_rights)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::failure_of;

namespace {

Capabilities parsed(const std::string &list)
{
    return parse_capabilities({list, "x"});
}

} // namespace

BOOST_AUTO_TEST_CASE(a_right_over_all_gpus_takes_the_hosts_word_and_the_containers_privilege)
{
    Config config;
    for (const std::string list : {"mig-config", "utility,mig-monitor"}) {
        config.may_administer = true;
        const auto refused = [&](bool is_limited, const Config *container) {
            return failure_of([&] { require_mig_rights(parsed(list), is_limited, container); });
        };
        BOOST_TEST((refused(true, &config).code == ExitCode::Success), list);
        BOOST_TEST((refused(true, nullptr).code == ExitCode::Success), list);
        BOOST_TEST((refused(false, &config).code == ExitCode::Policy), list);
        BOOST_TEST(refused(false, nullptr).says("(--allow-capabilities)"), list);
        config.may_administer = false;
        BOOST_TEST((refused(true, &config).code == ExitCode::Policy), list);
        BOOST_TEST(refused(true, &config).says("CAP_SYS_ADMIN"), list);
    }
    BOOST_TEST((failure_of([&] { require_mig_rights(parsed("all,gds"), false, &config); }).code ==
                ExitCode::Success));
    BOOST_TEST(!has_mig_right(parsed("all")));
}

BOOST_AUTO_TEST_SUITE_END()
