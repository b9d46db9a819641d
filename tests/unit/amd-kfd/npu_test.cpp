// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "amd-kfd/capabilities.h"
#include "amd-kfd/npu.h"
#include "support/amd_host.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(amd_kfd_npu)

using namespace ogh;
using namespace ogh::amd_kfd;
using ogh::test::AmdHost;
using ogh::test::failure_of;

namespace {

std::vector<Npu> read(const AmdHost &host)
{
    return read_npus(Sysroot(host.path()));
}

Capabilities parse(const std::string &value)
{
    return parse_capabilities({value, "annotation 'k'"});
}

} // namespace

BOOST_AUTO_TEST_CASE(those_of_amds_driver)
{
    const AmdHost host;
    host.npu(0, "intel_vpu", "261:0\n");
    host.npu(2, "amdxdna", "261:2\n");
    host.npu(1, "amdxdna", "261:1\n");
    BOOST_TEST((read(host) == std::vector<Npu>{{"accel1", {261, 1}}, {"accel2", {261, 2}}}));
}

BOOST_AUTO_TEST_CASE(none_is_an_error_that_says_what_to_load)
{
    const AmdHost host;
    const auto check = [&] {
        const auto failure = failure_of([&] { read(host); });
        BOOST_TEST((failure.code == ExitCode::Host));
        BOOST_TEST(failure.message ==
                   "this host has no AMD NPU in /dev/accel; 'modprobe amdxdna' on the host loads "
                   "its driver");
    };
    check();
    host.npu(0, "intel_vpu", "261:0\n");
    check();
    host.folder("sys/class/accel/accel");
    check();
}

BOOST_AUTO_TEST_CASE(npu_is_the_only_capability)
{
    BOOST_TEST((parse("npu") == Capabilities{true}));
    BOOST_TEST((parse(" npu ,npu") == Capabilities{true}));
    for (const char *value : {"", "NPU", "npu,", "compute", "npu,video", "all", "none"}) {
        const auto failure = failure_of([&] { parse(value); });
        BOOST_TEST((failure.code == ExitCode::Usage), value);
        BOOST_TEST(failure.message.ends_with("; it takes 'npu'"), failure.message);
    }
    BOOST_TEST(failure_of([] { parse("npu,gds"); }).message ==
               "the annotation 'k' has 'gds', which is no capability, in 'npu,gds'; it takes 'npu'");
}

BOOST_AUTO_TEST_SUITE_END()
