// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "hook/cdi_option.h"
#include "listing/cdi_spec.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(cdi_spec)

using namespace ogh;
using ogh::test::failure_of;

namespace {

bool has(const std::vector<CdiDevice> &devices, const CdiDevice &device)
{
    return std::find(devices.begin(), devices.end(), device) != devices.end();
}

} // namespace

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
    Notes notes;
    BOOST_TEST(nlohmann::json::parse(to_json(spec, notes)) == expected);
    BOOST_TEST(notes.empty());
}

BOOST_AUTO_TEST_CASE(names_that_cdi_refuses_are_left_out_and_told)
{
    const CdiSpec spec{"mount-srv",
                       "",
                       "/x/mount-srv",
                       {},
                       "",
                       {},
                       devices_named({"a", "a", ".b", "c d", "_", "e_", "", "0.1-x:y", "\xc3\xa4"})};
    Notes notes;
    const auto document = nlohmann::json::parse(to_json(spec, notes));
    BOOST_REQUIRE(notes.size() == 6U);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    BOOST_TEST(notes[1].text ==
               "'c d' is left out: a CDI device is called by letters and digits, and within its name "
               "'_', '-', '.' and ':' as well");
    BOOST_TEST(document["devices"].size() == 2U);
    BOOST_TEST(document["devices"][1]["name"] == "0.1-x:y");
    BOOST_TEST(document["devices"][0]["containerEdits"]["hooks"].size() == 1U);
}

BOOST_AUTO_TEST_CASE(gpus_have_names_that_do_not_depend_on_the_day)
{
    const auto devices = gpu_devices({});
    BOOST_TEST(devices.size() == 74U);
    for (const char *name : {"all", "allowed", "0", "31", "any:1", "any:8"})
        BOOST_TEST(has(devices, {name, name}), name);
    BOOST_TEST(has(devices, {"gpu31", "31"}));
}

BOOST_AUTO_TEST_CASE(gpus_have_all_names_of_the_annotation)
{
    std::vector<Candidate> gpus(64, Candidate{});
    gpus[0].address = {0, 0x5e, 0, 0};
    gpus[0].names = {"GPU-5a1c0de0-1111-4222-8333-012345678901", "7:7", "renderD129"};
    gpus[0].groups = gpus[1].groups = {"gfx942"};
    gpus[2].whole = 0;
    gpus[2].names = {"MIG-GPU-5a1c0de0-1111-4222-8333-012345678901/1/0", "0:1:0"};
    gpus[3].whole = 0;
    gpus[3].names = {"a/b"};
    gpus[3].description = "a/b";
    const auto devices = gpu_devices(gpus);
    for (const char *name : {"63", "any:64", "GPU-5a1c0de0-1111-4222-8333-012345678901", "7:7", "renderD129",
                             "0000:5e:00.0", "gfx942", "any:gfx942:2", "0:1:0"})
        BOOST_TEST(has(devices, {name, name}), name);
    BOOST_TEST(has(devices, {"gpu63", "63"}));
    BOOST_TEST(!has(devices, {"any:gfx942:3", "any:gfx942:3"}));
    BOOST_TEST(std::count_if(devices.begin(), devices.end(),
                             [](const CdiDevice &device) { return !is_cdi_name(device.name); }) == 1);
    BOOST_TEST(has(devices, {"a/b", "a/b"})); // it has no other, and is told
}

BOOST_AUTO_TEST_CASE(a_device_asks_for_what_its_name_stands_for)
{
    const CdiSpec spec{"amd-kfd", "amd.com/gpu", "/x/amd-kfd", {}, "", {}, {{"gpu1", "1"}}};
    Notes notes;
    const auto document = nlohmann::json::parse(to_json(spec, notes));
    BOOST_TEST(document["kind"] == "amd.com/gpu");
    BOOST_TEST(document["devices"][0]["name"] == "gpu1");
    BOOST_TEST(document["devices"][0]["containerEdits"]["hooks"][0]["args"] ==
               nlohmann::json::parse(R"(["amd-kfd", "--request", "1"])"));
}

BOOST_AUTO_TEST_CASE(a_runtime_lets_a_hook_wait)
{
    using std::chrono::seconds;
    BOOST_TEST(hook_timeout(seconds(0)).count() == 30);
    BOOST_TEST(hook_timeout(seconds(26)).count() == 31);
    BOOST_TEST(hook_timeout(seconds(300)).count() == 305);
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
