// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "hook/cdi_option.h"
#include "hook/cdi_spec.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(cdi_spec)

using namespace ogh;
using ogh::test::failure_of;

BOOST_AUTO_TEST_CASE(each_device_calls_the_hook_and_then_ldcache_update)
{
    const CdiSpec spec{"amd-kfd",           "",
                       "/x/amd-kfd",        {"--allow", "0"},
                       "/x/ldcache-update", std::chrono::seconds{30},
                       {{"any:1", "any:1"}}};
    const auto expected = nlohmann::json::parse(R"({"cdiVersion": "0.5.0", "kind": "io.oci-gpu-hooks/amd-kfd",
        "devices": [{"name": "any:1", "containerEdits": {"hooks": [
            {"hookName": "createRuntime", "path": "/x/amd-kfd", "timeout": 30,
             "args": ["amd-kfd", "--allow", "0", "--request", "any:1"], "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]},
            {"hookName": "createRuntime", "path": "/x/ldcache-update", "timeout": 30,
             "args": ["ldcache-update", "--request", "auto"], "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]}
        ]}}]})");
    BOOST_TEST(nlohmann::json::parse(to_json(spec)) == expected);
}

BOOST_AUTO_TEST_CASE(names_that_cdi_refuses_are_left_out)
{
    const CdiSpec spec{"mount-srv",
                       "",
                       "/x/mount-srv",
                       {},
                       "",
                       {},
                       devices_named({"a", "a", ".b", "c d", "_", "e_", "", "0.1-x:y", "\xc3\xa4"})};
    const auto document = nlohmann::json::parse(to_json(spec));
    BOOST_TEST(document["devices"].size() == 2U);
    BOOST_TEST(document["devices"][1]["name"] == "0.1-x:y");
    BOOST_TEST(document["devices"][0]["containerEdits"]["hooks"].size() == 1U);
}

BOOST_AUTO_TEST_CASE(gpus_have_names_that_do_not_depend_on_the_day)
{
    const auto devices = gpu_devices({});
    BOOST_TEST(devices.size() == 73U);
    const auto has = [&](const CdiDevice &device) {
        return std::find(devices.begin(), devices.end(), device) != devices.end();
    };
    for (const char *name : {"all", "0", "31", "any:1", "any:8"})
        BOOST_TEST(has({name, name}));
    BOOST_TEST(has({"gpu31", "31"}));
    Candidate gpu;
    gpu.description = "GPU-5a1c0de0-1111-4222-8333-012345678901";
    BOOST_TEST(gpu_devices({gpu}).back().name == gpu.description);
}

BOOST_AUTO_TEST_CASE(a_device_asks_for_what_its_name_stands_for)
{
    const CdiSpec spec{"amd-kfd", "amd.com/gpu", "/x/amd-kfd", {}, "", {}, {{"gpu1", "1"}}};
    const auto document = nlohmann::json::parse(to_json(spec));
    BOOST_TEST(document["kind"] == "amd.com/gpu");
    BOOST_TEST(document["devices"][0]["name"] == "gpu1");
    BOOST_TEST(document["devices"][0]["containerEdits"]["hooks"][0]["args"] ==
               nlohmann::json::parse(R"(["amd-kfd", "--request", "1"])"));
}

BOOST_AUTO_TEST_CASE(a_runtime_lets_a_hook_wait)
{
    BOOST_TEST(hook_timeout("").count() == 30);
    BOOST_TEST(hook_timeout("0s").count() == 30);
    BOOST_TEST(hook_timeout("26s").count() == 31);
    BOOST_TEST(hook_timeout("5m").count() == 305);
}

BOOST_AUTO_TEST_CASE(who_names_a_device_asks)
{
    CommonOptions options;
    BOOST_CHECK_NO_THROW(check_cdi(true, false, options));
    BOOST_TEST((failure_of([&] { check_cdi(true, true, options); }).kind == ErrorKind::Usage));
    options.opt_in = OptIn::Environment;
    BOOST_TEST((failure_of([&] { check_cdi(true, false, options); }).kind == ErrorKind::Usage));
    BOOST_CHECK_NO_THROW(check_cdi(false, false, options));
    CommonOptions requested;
    requested.request = "all";
    BOOST_TEST((failure_of([&] { check_cdi(true, false, requested); }).kind == ErrorKind::Usage));
}

BOOST_AUTO_TEST_SUITE_END()
