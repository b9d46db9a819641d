// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "request/device_plugin.h"
#include "request/request.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(device_plugin)

using namespace ogh;
using ogh::test::Failure;
using ogh::test::failure_of;

namespace {

const std::string directory = "/var/run/plugin/";
const std::string uuid = "GPU-8f0e4c1a-0000-4000-8000-000000000001";
const std::string other = "GPU-8f0e4c1a-0000-4000-8000-000000000002";
const std::string own_key = "io.oci-gpu-hooks.nvidia-devices";

PluginNames names()
{
    return {.variable = "VENDOR_VISIBLE_DEVICES",
            .kinds = {"vendor.com/gpu"},
            .prefixes = {"cdi.k8s.io/", "vendor.cdi.k8s.io/"},
            .directories = {"/var/run/plugin/", "/run/plugin/"},
            .uuid_prefixes = {"GPU-", "MIG-"},
            .other_directory = "imex/",
            .other_kinds = {"vendor.com/channel"},
            .control_node = "/dev/vfd",
            .node_directory = "/dev/dri/",
            .node_prefix = "renderD"};
}

Config with_mounts(const std::vector<std::string> &targets)
{
    Config config;
    for (const std::string &target : targets)
        config.binds.push_back({target, "/dev/null"});
    return config;
}

OptInOptions from(const std::string &list)
{
    OptInOptions options;
    options.plugin = {names(), parse_plugin_sources({list, "option '--from'"}, names())};
    return options;
}

/** What is asked for where the host believes these sources; "-" for nothing. */
std::string asked(const Config &config, const std::string &list)
{
    Notes notes;
    const auto found = read_request("nvidia-devices", &config, from(list), notes);
    return found ? found->what.value : "-";
}

Failure failure(const Config &config, const std::string &list)
{
    return failure_of([&] { asked(config, list); });
}

} // namespace

BOOST_AUTO_TEST_CASE(mounts_of_dev_null_name_devices)
{
    BOOST_TEST(asked(with_mounts({"/tmp", directory + uuid, "/run/plugin/" + other}), "mounts") ==
               uuid + "," + other);
    BOOST_TEST(asked(with_mounts({directory + "all"}), "mounts") == "all");
    BOOST_TEST(asked(with_mounts({"/tmp"}), "mounts") == "-");
}

BOOST_AUTO_TEST_CASE(a_mount_of_anything_else_is_refused)
{
    Config config = with_mounts({directory + uuid});
    for (const char *source : {"", "/dev/zero", "/var/lib/kubelet/pods/1/volumes/dev/null"}) {
        config.binds[0].source = source;
        BOOST_TEST(failure(config, "mounts").says("its source is"), source);
    }
}

BOOST_AUTO_TEST_CASE(every_one_of_several_mounts_on_a_destination_is_of_dev_null)
{
    Config config = with_mounts({directory + uuid, directory + uuid});
    BOOST_TEST(asked(config, "mounts") == uuid + "," + uuid);
    for (size_t forged : {0U, 1U}) {
        Config another = config;
        another.binds[forged].source = "/etc/hostname";
        BOOST_TEST(failure(another, "mounts").says("'/etc/hostname'"));
    }
}

BOOST_AUTO_TEST_CASE(nodes_beside_the_one_that_comes_with_all_name_devices)
{
    Config config;
    config.devices = {"/dev/dri/card1", "/dev/dri/renderD128", "/dev/vfd", "/dev/dri/renderD130",
                      "/dev/null"};
    config.environment = {"VENDOR_VISIBLE_DEVICES=" + uuid};
    BOOST_TEST(asked(config, "environment,nodes") == "renderD128,renderD130");
    config.environment = {};
    BOOST_TEST(asked(config, "mounts") == "-");
    config.allows_every_device = true;
    BOOST_TEST(asked(config, "nodes") == "-");
    config.allows_every_device = false;
    config.devices.erase(config.devices.begin() + 2); // another vendor's render nodes
    BOOST_TEST(asked(config, "nodes") == "-");
    config.devices = {"/dev/vfd", "/dev/dri/renderD128/../renderD129"};
    BOOST_TEST((failure(config, "nodes").kind == ErrorKind::Usage));
}

BOOST_AUTO_TEST_CASE(mounts_win_in_any_order)
{
    Config config = with_mounts({directory + uuid});
    config.annotations["cdi.k8s.io/plugin_1"] = "vendor.com/gpu=" + other;
    config.environment = {"VENDOR_VISIBLE_DEVICES=" + other};
    BOOST_TEST(asked(config, "environment,cdi-annotations,mounts") == uuid);
    config.binds.clear();
    BOOST_TEST(asked(config, "environment,cdi-annotations") == other);
    BOOST_TEST(asked(config, "environment") == "env");
}

BOOST_AUTO_TEST_CASE(a_source_that_is_believed_counts_beside_others)
{
    Config config = with_mounts({directory + uuid});
    config.environment = {"VENDOR_VISIBLE_DEVICES=" + other};
    BOOST_TEST(asked(config, "environment") == "env");
    config.annotations["cdi.k8s.io/plugin_1"] = "vendor.com/gpu=" + other;
    BOOST_TEST(asked(config, "cdi-annotations") == other);
    BOOST_TEST(asked(config, "mounts") == uuid);
}

BOOST_AUTO_TEST_CASE(a_container_that_was_to_have_devices_does_not_start_without)
{
    Config config = with_mounts({directory + uuid});
    BOOST_TEST((failure(config, "cdi-annotations,environment").kind == ErrorKind::Usage));
    BOOST_TEST(failure(config, "cdi-annotations").says("'--from mounts'"));
    config.environment = {"VENDOR_VISIBLE_DEVICES=" + directory.substr(0, directory.size() - 1)};
    BOOST_TEST(failure(config, "environment").says("'--from mounts'"));
    config.annotations[own_key] = "none";
    BOOST_TEST(asked(config, "environment") == "none");
}

BOOST_AUTO_TEST_CASE(cdi_devices_of_other_kinds_are_left_to_others)
{
    Config config;
    config.annotations["cdi.k8s.io/plugin_1"] = "example.com/nic=0,vendor.com/gpu=" + uuid;
    BOOST_TEST(asked(config, "cdi-annotations") == uuid);
    config.annotations["vendor.cdi.k8s.io/plugin_2"] = "vendor.com/gpu=" + other;
    BOOST_TEST(asked(config, "cdi-annotations") == uuid + "," + other);
    config.annotations = {{"cdi.k8s.io/plugin_1", "example.com/nic=0"},
                          {"evil-cdi.k8s.io/x", "vendor.com/gpu=" + uuid}};
    BOOST_TEST(asked(config, "cdi-annotations") == "-");
    config.annotations = {{"cdi.k8s.io/plugin_1", "vendor.com/gpu"}};
    BOOST_TEST(failure(config, "cdi-annotations").says("no CDI device"));
}

BOOST_AUTO_TEST_CASE(what_no_plugin_would_name)
{
    for (const char *name :
         {"", "..", "../x", "a/b", "0-7", "-1", "env", "none", "allowed", "any:2", "a,b", "imex/0"}) {
        BOOST_TEST((failure(with_mounts({directory + name}), "mounts").kind == ErrorKind::Usage), name);
        Config config;
        config.annotations["cdi.k8s.io/x"] = "vendor.com/gpu=" + std::string(name);
        if (std::string_view(name) != "a,b")
            BOOST_TEST((failure(config, "cdi-annotations").kind == ErrorKind::Usage), name);
    }
    BOOST_TEST(
        (failure(with_mounts({directory + std::string(70000, 'a')}), "mounts").kind == ErrorKind::Usage));
}

BOOST_AUTO_TEST_CASE(what_an_image_says_is_no_plugins_word)
{
    Config config;
    for (const char *value : {"all", "none", "void", " all ", "", " ", "ALL"}) {
        config.environment = {"VENDOR_VISIBLE_DEVICES=" + std::string(value)};
        BOOST_TEST(asked(config, "environment") == "-", value);
    }
    for (const std::string &value : {uuid, uuid + "," + other, "MIG-" + uuid.substr(4) + "," + uuid}) {
        config.environment = {"VENDOR_VISIBLE_DEVICES=" + value};
        BOOST_TEST(asked(config, "environment") == "env", value);
    }
    for (const std::string &value :
         {std::string("0"), std::string("0,1"), uuid + ",all", uuid + ",", uuid.substr(0, 12), uuid + "0",
          uuid.substr(4), "GPU-" + std::string(36, '0'), std::string("/var/run/nvidia-container-devices")}) {
        config.environment = {"VENDOR_VISIBLE_DEVICES=" + value};
        BOOST_TEST((failure(config, "environment").kind == ErrorKind::Usage), value);
        BOOST_TEST(failure(config, "environment").says("'deviceIDStrategy: uuid'"), value);
    }
}

BOOST_AUTO_TEST_CASE(other_things_than_devices_are_named_beside_them)
{
    Config config = with_mounts({directory + uuid, directory + "imex/3"});
    config.annotations["cdi.k8s.io/x"] = "vendor.com/channel=4";
    const std::vector<std::string> three{"3"};
    const std::vector<std::string> four{"4"};
    BOOST_TEST(asked(config, "mounts") == uuid);
    BOOST_TEST((find_plugin_others(config, names(), PluginSource::Mounts) == three));
    BOOST_TEST((find_plugin_others(config, names(), PluginSource::CdiAnnotations) == four));
    BOOST_TEST(find_plugin_others(config, names(), PluginSource::Environment).empty());
    config.binds.clear();
    BOOST_TEST(failure(config, "cdi-annotations").says("name no device"));
}

BOOST_AUTO_TEST_CASE(beside_a_plugin_the_container_itself_can_ask_for_none)
{
    Config config = with_mounts({directory + uuid});
    config.annotations[own_key] = "none";
    BOOST_TEST(asked(config, "mounts") == "none");
    for (const char *value : {"all", "0", "env"}) {
        config.annotations[own_key] = value;
        BOOST_TEST((failure(config, "mounts").kind == ErrorKind::Denied), value);
    }
    config.annotations = {{"io.oci-gpu-hooks.nvidia-device", "0"}};
    BOOST_TEST((failure(config, "mounts").kind == ErrorKind::Usage));
}

BOOST_AUTO_TEST_CASE(the_hosts_only_is_for_what_a_plugin_gives_too)
{
    Config config = with_mounts({directory + uuid});
    OptInOptions options = from("mounts");
    options.only = {"io.kubernetes.pod.namespace=ml"};
    Notes notes;
    const auto ask = [&] { return read_request("nvidia-devices", &config, options, notes); };
    BOOST_TEST((failure_of([&] { static_cast<void>(ask()); }).kind == ErrorKind::Denied));
    config.annotations["io.kubernetes.pod.namespace"] = "ml";
    BOOST_TEST(ask().has_value());
    config = {};
    BOOST_TEST(!ask().has_value());
}

BOOST_AUTO_TEST_CASE(sources_are_known_words)
{
    for (const char *list : {"", "mount", "mounts,,environment"})
        BOOST_TEST((failure_of([&] {
                        parse_plugin_sources({list, "option '--from'"}, names());
                    }).kind == ErrorKind::Usage),
                   list);
    const PluginNames without{.variable = "V"};
    for (const char *word : {"nodes", "mounts", "cdi-annotations"}) {
        const auto failure = failure_of([&] { parse_plugin_sources({word, "option '--from'"}, without); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), word);
        BOOST_TEST(failure.says("it takes 'environment'"), word);
    }
}

BOOST_AUTO_TEST_SUITE_END()
