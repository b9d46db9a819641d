// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/request/extras.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_extras)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::failure_of;
using enum Capability;

namespace {

/** A container that asks for a GPU, and what it says besides. */
struct Case {
    Config config;
    GpuRequest request;
    ExtrasOptions options;

    Case()
    {
        request.selectors.all = true;
        request.config = &config;
    }
    Case(const Case &) = delete;
    Case &operator=(const Case &) = delete;

    void say(const char *name, const char *value)
    {
        request.asked.details[name] = {value, std::string("annotation '") + name + "'"};
    }

    [[nodiscard]] Extras extras() const { return extras_of(request, options); }

    [[nodiscard]] ErrorKind refusal() const
    {
        return failure_of([&] { static_cast<void>(extras()); }).kind;
    }
};

using Named = CapabilityBits;

} // namespace

BOOST_AUTO_TEST_CASE(who_names_no_capability_gets_those_of_the_vendors_tools)
{
    Case c;
    BOOST_TEST((c.extras().capabilities == default_capabilities()));
    BOOST_TEST(c.extras().has_files);
    c.request.selectors = {};
    c.request.selectors.none = true;
    BOOST_TEST(!c.extras().has_files);
    c.say("capabilities", "utility");
    BOOST_TEST(c.extras().has_files);
}

BOOST_AUTO_TEST_CASE(the_hosts_words_count_where_the_host_asks)
{
    Case c;
    c.options.capabilities = "video";
    BOOST_TEST((c.extras().capabilities == default_capabilities()));
    for (const Asker asker : {Asker::Always, Asker::Device}) {
        c.request.asked.asker = asker;
        BOOST_TEST((c.extras().capabilities.named == Named{Video}));
    }
    c.say("capabilities", "graphics");
    BOOST_TEST((c.extras().capabilities.named == Named{Graphics}), "the container's own win");
}

BOOST_AUTO_TEST_CASE(variables_count_only_where_they_choose_the_gpus)
{
    Case c;
    c.config.environment = {"NVIDIA_DRIVER_CAPABILITIES=video", "NVIDIA_REQUIRE_CUDA=cuda>=12.0"};
    BOOST_TEST((c.extras().capabilities == default_capabilities()));
    BOOST_TEST(c.extras().requirements.empty());
    c.request.by_environment = true;
    BOOST_TEST((c.extras().capabilities.named == Named{Video}));
    BOOST_TEST(c.extras().requirements.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_key_has_a_limit_for_capabilities_beside_the_hosts)
{
    Case c;
    c.say("capabilities", "compute,video");
    c.options.allow_capabilities = Capabilities{{Compute, Video}, false};
    BOOST_TEST((c.extras().capabilities.named == Named{Compute, Video}));
    c.request.asked.limits.allow_capabilities = "compute";
    BOOST_TEST((c.refusal() == ErrorKind::Denied));
    c.request.asked.limits.allow_capabilities = "all";
    c.options.allow_capabilities = Capabilities{{Compute}, false};
    BOOST_TEST((c.refusal() == ErrorKind::Denied));
}

BOOST_AUTO_TEST_CASE(no_channel_is_given_that_the_host_does_not_allow)
{
    Case c;
    c.say("imex", "3");
    BOOST_TEST((c.refusal() == ErrorKind::Denied));
    c.options.allow_imex = ImexPolicy({"0-2", "option '--allow-imex'"});
    BOOST_TEST((c.refusal() == ErrorKind::Denied));
    c.options.allow_imex = ImexPolicy({"0-3", "option '--allow-imex'"});
    BOOST_TEST((c.extras().imex_channels == std::vector<unsigned>{3}));
    c.request.selectors = {};
    c.request.selectors.none = true;
    BOOST_TEST(c.extras().imex_channels.empty(), "a container without a GPU has no use for them");
}

BOOST_AUTO_TEST_CASE(channels_come_from_where_the_gpus_come_from)
{
    Case c;
    c.options.allow_imex = ImexPolicy({"all", "option '--allow-imex'"});
    c.config.environment = {"NVIDIA_IMEX_CHANNELS=1"};
    c.config.binds = {{"/var/run/nvidia-container-devices/imex/2", "/dev/null"}};
    c.request.by_environment = true;
    BOOST_TEST((c.extras().imex_channels == std::vector<unsigned>{1}));
    c.request.asked.plugin = PluginSource::Mounts;
    BOOST_TEST((c.extras().imex_channels == std::vector<unsigned>{2}));
    c.say("imex", "1");
    BOOST_TEST((c.refusal() == ErrorKind::Denied));
}

BOOST_AUTO_TEST_SUITE_END()
