// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/request/capabilities.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_capabilities)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::failure_of;

namespace {

using enum Capability;

Capabilities parse(const std::string &value)
{
    return parse_capabilities({value, "annotation 'k'"});
}

Capabilities allowing(const std::string &list)
{
    return parse_allowed_capabilities({list, "option '--allow-capabilities'"});
}

Capabilities of(const std::vector<std::string> &environment)
{
    Config config;
    config.environment = environment;
    return capabilities_of_environment(config);
}

Capabilities named(CapabilityBits list)
{
    return {list, false};
}

const Capabilities usual = named({Compute, Utility});
const Capabilities everything = {{}, true};

} // namespace

BOOST_AUTO_TEST_CASE(the_default_is_compute_and_utility)
{
    BOOST_TEST((default_capabilities() == usual));
}

BOOST_AUTO_TEST_CASE(each_has_its_name)
{
    BOOST_TEST((parse("compute") == named({Compute})));
    BOOST_TEST((parse("utility") == named({Utility})));
    BOOST_TEST((parse("video") == named({Video})));
    BOOST_TEST((parse("graphics") == named({Graphics})));
    BOOST_TEST((parse("display") == named({Display})));
    BOOST_TEST((parse("ngx") == named({Ngx})));
    BOOST_TEST((parse("compat32") == named({Compat32})));
    BOOST_TEST((parse("gds") == named({Gds})));
    BOOST_TEST((parse("gdrcopy") == named({Gdrcopy})));
    BOOST_TEST((parse("mofed") == named({Mofed})));
}

BOOST_AUTO_TEST_CASE(lists_with_blanks_and_repeats)
{
    BOOST_TEST((parse(" utility ,\tcompute,utility") == usual));
    BOOST_TEST((parse("all,gds , all") == Capabilities{{Gds}, true}));
}

BOOST_AUTO_TEST_CASE(the_policy_is_the_limit)
{
    BOOST_TEST((permitted(parse("all,gds"), std::nullopt) == Capabilities{{Gds}, true}));
    const Capabilities allowed = allowing("compute, utility,gds");
    BOOST_TEST((permitted(usual, allowed) == usual));
    const auto failure = failure_of([&] { permitted(parse("utility,graphics"), allowed); });
    BOOST_TEST((failure.kind == ErrorKind::Denied));
    BOOST_TEST(failure.message ==
               "no capability 'graphics': the host's policy (--allow-capabilities) does not "
               "allow it; it allows 'compute', 'utility', 'gds'");
    BOOST_TEST((failure_of([&] { permitted(usual, allowing("none")); }).kind == ErrorKind::Denied));
    BOOST_TEST((failure_of([] { allowing("compute,odd"); }).kind == ErrorKind::Usage));
    BOOST_TEST((permitted(parse("all"), allowing("all")) == everything));
    BOOST_TEST((failure_of([] { permitted(parse("gds"), allowing("all")); }).kind == ErrorKind::Denied));
}

BOOST_AUTO_TEST_CASE(all_is_what_the_policy_hands_out)
{
    const Capabilities left = permitted(parse("all"), allowing("utility,video"));
    for (const Capability each : {Utility, Video})
        BOOST_TEST(left.has(each));
    for (const Capability each : {Compute, Graphics, Display, Ngx, Compat32, Gds})
        BOOST_TEST(!left.has(each));
    BOOST_TEST(left.named.is_empty()); // the host need not have them
    BOOST_TEST((failure_of([] { permitted(parse("all"), allowing("gds")); }).kind == ErrorKind::Denied));
}

BOOST_AUTO_TEST_CASE(two_limits_leave_what_both_allow)
{
    const Capabilities left =
        permitted(permitted(parse("all"), allowing("utility,video")), allowing("video,graphics"));
    for (const Capability each : {Compute, Utility, Graphics})
        BOOST_TEST(!left.has(each));
    BOOST_TEST(left.has(Video));
    const auto both = [](const Capabilities &wanted) {
        permitted(permitted(wanted, allowing("all")), allowing("none"));
    };
    BOOST_TEST((failure_of([&] { both(parse("all")); }).kind == ErrorKind::Denied));
    BOOST_TEST((failure_of([&] { both(usual); }).kind == ErrorKind::Denied));
}

BOOST_AUTO_TEST_CASE(all_is_the_seven_and_no_more)
{
    const Capabilities all = parse("all");
    BOOST_TEST((all == everything));
    for (const Capability each : {Compute, Utility, Video, Graphics, Display, Ngx, Compat32})
        BOOST_TEST(all.has(each));
    for (const Capability each : {Gds, Gdrcopy, Mofed})
        BOOST_TEST(!all.has(each));
    BOOST_TEST(parse("all,mofed").has(Mofed));
    BOOST_TEST(!parse("compute").has(Utility));
}

BOOST_AUTO_TEST_CASE(what_is_no_capability_is_refused_with_all_that_are)
{
    for (const char *value : {"imex", "nvswitch", "mig-config", "Compute", "", ",", "compute,",
                              "compute utility", "none", "compute,\xff", "0"}) {
        const auto failure = failure_of([&] { parse(value); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), value);
        BOOST_TEST(
            failure.says("; it takes a list, separated by commas, of 'all', 'compute', 'utility', 'video', "
                         "'graphics', 'display', 'ngx', 'compat32', 'gds', 'gdrcopy', 'mofed'"),
            failure.message);
        BOOST_TEST(failure.says("annotation 'k'"), failure.message);
    }
    BOOST_TEST(
        failure_of([&] {
            parse("video,imex");
        }).message.starts_with("the annotation 'k' has 'imex', which is no capability, in 'video,imex'; "));
}

BOOST_AUTO_TEST_CASE(the_environment_as_the_toolkit_reads_it)
{
    BOOST_TEST((of({}) == usual));
    BOOST_TEST((of({"NVIDIA_DRIVER_CAPABILITIES="}) == usual));
    BOOST_TEST((of({"NVIDIA_DRIVER_CAPABILITIES= , "}) == usual));
    BOOST_TEST((of({"NVIDIA_DRIVER_CAPABILITIES= video , utility,,"}) == named({Video, Utility})));
    BOOST_TEST((of({"NVIDIA_DRIVER_CAPABILITIES=all"}) == everything));
    BOOST_TEST((of({"NVIDIA_DRIVER_CAPABILITIES=all", "NVIDIA_DRIVER_CAPABILITIES=ngx"}) == named({Ngx})));
}

BOOST_AUTO_TEST_CASE(an_old_cuda_image_gets_all)
{
    const std::string cuda = "CUDA_VERSION=9.0";
    BOOST_TEST((of({cuda}) == everything));
    BOOST_TEST((of({cuda, "NVIDIA_REQUIRE_CUDA="}) == everything));
    BOOST_TEST((of({cuda, "NVIDIA_REQUIRE_CUDA=cuda>=9.0"}) == usual));
    BOOST_TEST((of({cuda, "NVIDIA_DRIVER_CAPABILITIES="}) == usual));
    BOOST_TEST((of({"CUDA_VERSION="}) == usual));
}

BOOST_AUTO_TEST_CASE(further_variables_add_to_it)
{
    BOOST_TEST((of({"NVIDIA_GDS=enabled"}) == named({Compute, Utility, Gds})));
    BOOST_TEST((of({"NVIDIA_GDRCOPY=enabled"}).has(Gdrcopy)));
    BOOST_TEST((of({"NVIDIA_MOFED=enabled"}).has(Mofed)));
    BOOST_TEST((of({"NVIDIA_DRIVER_CAPABILITIES=all", "NVIDIA_GDS=enabled"}) == Capabilities{{Gds}, true}));
    for (const char *value : {"NVIDIA_GDS=", "NVIDIA_GDS=disabled", "NVIDIA_GDS=Enabled", "NVIDIA_GDS=1"})
        BOOST_TEST((of({value}) == usual), value);
}

BOOST_AUTO_TEST_CASE(the_toolkits_variable_knows_only_the_toolkits_names)
{
    for (const char *value : {"gds", "compute,mofed", "foo", "all,foo"}) {
        const auto failure = failure_of([&] { of({"NVIDIA_DRIVER_CAPABILITIES=" + std::string(value)}); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), value);
        BOOST_TEST(failure.says("environment variable 'NVIDIA_DRIVER_CAPABILITIES'"), failure.message);
        BOOST_TEST(failure.message.ends_with("'ngx', 'compat32'"), failure.message);
    }
}

BOOST_AUTO_TEST_SUITE_END()
