// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "request/device_plugin.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(plugin_marks)

using namespace ogh;
using ogh::test::Failure;
using ogh::test::failure_of;

namespace {

const std::string uuid = "GPU-8f0e4c1a-0000-4000-8000-000000000001";
const std::string instance = "MIG-8f0e4c1a-0000-4000-8000-000000000002";

DevicePlugin believing(std::vector<PluginSource> from)
{
    return {{.variable = "VENDOR_VISIBLE_DEVICES",
             .kinds = {"vendor.com/gpu"},
             .prefixes = {"cdi.k8s.io/", "vendor.cdi.k8s.io/"},
             .directories = {"/var/run/plugin/", "/run/plugin/"},
             .uuid_prefixes = {"GPU-", "MIG-"},
             .numbered_node = "/dev/vendor"},
            std::move(from)};
}

/** A container with a mark of each kind, and how the message calls it. */
struct Marked {
    PluginSource source;
    Config config;
    const char *text;
};

std::vector<Marked> all_marks()
{
    std::vector<Marked> marks{{PluginSource::Mounts, {}, "mount '/run/plugin/x'"},
                              {PluginSource::CdiAnnotations, {}, "annotation 'vendor.cdi.k8s.io/plugin_1'"},
                              {PluginSource::Environment, {}, "variable 'VENDOR_VISIBLE_DEVICES'"}};
    marks[0].config.binds = {{"/run/plugin/x", "/dev/null"}};
    marks[1].config.annotations = {
        {"cdi.k8s.io/nic", "example.com/nic=0"},
        {"vendor.cdi.k8s.io/plugin_1", "example.com/nic=1,vendor.com/gpu=" + uuid}};
    marks[2].config.environment = {"VENDOR_VISIBLE_DEVICES=" + uuid + "," + instance};
    return marks;
}

Failure refused(const Config &config, const DevicePlugin &plugin)
{
    return failure_of([&] { refuse_unbelieved_marks(config, plugin); });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_mark_that_is_not_believed_is_named_with_what_it_takes)
{
    for (const Marked &mark : all_marks()) {
        const Failure failure = refused(mark.config, believing({PluginSource::Nodes}));
        BOOST_TEST((failure.kind == ErrorKind::Usage), mark.text);
        BOOST_TEST(failure.says(mark.text), mark.text);
        BOOST_TEST(failure.says("takes '--from " + std::string(word_of(mark.source)) + "'"), mark.text);
        BOOST_TEST(failure.says("'--from nodes'"), mark.text);
        BOOST_TEST((refused(mark.config, believing({mark.source})).kind == ErrorKind::None), mark.text);
    }
}

BOOST_AUTO_TEST_CASE(what_images_say_is_no_mark)
{
    for (const std::string &value :
         {std::string("all"), std::string("none"), std::string("void"), std::string(), std::string("0"),
          std::string("0,1"), uuid + ",0", uuid.substr(0, 12), std::string("/var/run/plugin")}) {
        Config config;
        config.environment = {"VENDOR_VISIBLE_DEVICES=" + value};
        BOOST_TEST((refused(config, believing({PluginSource::Mounts})).kind == ErrorKind::None), value);
    }
    Config config;
    config.environment = {"VENDOR_VISIBLE_DEVICES=" + uuid, "VENDOR_VISIBLE_DEVICES=all"};
    config.annotations = {{"cdi.k8s.io/nic", "example.com/nic=0"}, {"x.cdi.k8s.io/1", "vendor.com/gpu=0"}};
    config.binds = {{"/run/plugins/x", "/dev/null"}, {"/var/run/plugin", "/x"}};
    BOOST_TEST((refused(config, believing({PluginSource::Nodes})).kind == ErrorKind::None));
}

BOOST_AUTO_TEST_CASE(no_error_where_the_vendors_tools_serve_the_container)
{
    for (Marked &mark : all_marks()) {
        DevicePlugin plugin = believing({PluginSource::Nodes});
        plugin.is_served_by_tools = [](const Config &config) { return !config.hooks.empty(); };
        BOOST_TEST((refused(mark.config, plugin).kind == ErrorKind::Usage), mark.text);
        mark.config.hooks = {{"/usr/bin/vendor-hook"}};
        BOOST_TEST((refused(mark.config, plugin).kind == ErrorKind::None), mark.text);
    }
}

BOOST_AUTO_TEST_CASE(no_error_where_the_nodes_are_there_already)
{
    for (Marked &mark : all_marks()) {
        const DevicePlugin plugin = believing({PluginSource::Nodes});
        mark.config.devices = {"/dev/vendorctl", "/dev/vendor", "/dev/vendor-caps/1"};
        BOOST_TEST((refused(mark.config, plugin).kind == ErrorKind::Usage), mark.text);
        mark.config.devices.emplace_back("/dev/vendor12");
        BOOST_TEST((refused(mark.config, plugin).kind == ErrorKind::None), mark.text);
        mark.config.allows_every_device = true; // a privileged container has those of all
        BOOST_TEST((refused(mark.config, plugin).kind == ErrorKind::Usage), mark.text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
