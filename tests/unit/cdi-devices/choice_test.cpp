// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "cdi-devices/request/device_choice.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(cdi_devices_choice)

using namespace ogh;
using namespace ogh::cdi;
using namespace ogh::cdi_devices;
using ogh::test::Failure;
using ogh::test::failure_of;

namespace {

Device device(const std::string &name, const std::string &variable)
{
    return {name, {.env = {variable}}};
}

const std::vector<SpecFile> files{
    {"/etc/cdi/a.yaml",
     0,
     {"0.5.0", "a.com/gpu", {device("0", "A0=old"), device("both", "B=1")}, {.env = {"A=file"}}}},
    {"/etc/cdi/b.yaml", 0, {"0.5.0", "a.com/gpu", {device("1", "A1=b"), device("both", "B=2")}, {}}},
    {"/run/cdi/a.yaml",
     1,
     {"0.5.0", "a.com/gpu", {device("0", "A0=new"), device("2", "A2=x")}, {.env = {"A=run"}}}},
    {"/run/cdi/c.yaml", 1, {"0.5.0", "c.com/npu", {device("x", "C=x")}, {}}}};

DeviceRequest asking(const std::string &value)
{
    return parse_device_request({.value = value, .origin = "test"});
}

/** The variables, which say what was chosen, in order. */
std::vector<std::string> chosen(const std::string &value, const Policy &policy = {})
{
    return combine(choose(asking(value), DeviceIndex(files), policy)).env;
}

Failure why_not(const std::string &value, const Policy &policy = {})
{
    return failure_of([&] { chosen(value, policy); });
}

using Words = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_CASE(devices_are_given_in_the_order_of_the_request_after_what_their_file_says)
{
    BOOST_TEST(chosen("a.com/gpu=1") == Words{"A1=b"}, boost::test_tools::per_element());
    BOOST_TEST(chosen("c.com/npu=x, a.com/gpu=2 ,a.com/gpu=0,a.com/gpu=2") ==
                   (Words{"C=x", "A=run", "A2=x", "A0=new"}),
               boost::test_tools::per_element());
    BOOST_TEST(chosen("none").empty());
}

BOOST_AUTO_TEST_CASE(what_two_files_of_a_directory_have_nobody_gets)
{
    const Failure failure = why_not("a.com/gpu=both");
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.says("'/etc/cdi/a.yaml' and '/etc/cdi/b.yaml'"));
}

BOOST_AUTO_TEST_CASE(all_that_is_missing_is_named_with_what_there_is)
{
    const Failure failure = why_not("a.com/gpu=7,a.com/gpu=1,a.com/gpu=8");
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.message == "no device 'a.com/gpu=7', 'a.com/gpu=8': this host has 'a.com/gpu=0', "
                                  "'a.com/gpu=1', 'a.com/gpu=2'");
    BOOST_TEST(why_not("z.com/x=7")
                   .says("this host has 'a.com/gpu=0', 'a.com/gpu=1', 'a.com/gpu=2', 'c.com/npu=x'"));
}

BOOST_AUTO_TEST_CASE(a_kind_alone_is_an_error_that_lists_its_devices)
{
    for (const char *value : {"a.com/gpu", "a.com/gpu=*", "c.com/npu=x,a.com/gpu"})
        BOOST_TEST_CONTEXT(value)
        {
            BOOST_TEST((why_not(value).kind == ErrorKind::Usage));
            BOOST_TEST(why_not(value).says("'a.com/gpu=0', 'a.com/gpu=1', 'a.com/gpu=2'"));
        }
}

BOOST_AUTO_TEST_CASE(what_is_no_name_is_refused)
{
    for (const char *value :
         {",", "a.com/gpu=0,", "gpu=0", "0", "all", "a.com/gpu=", "a.com/gpu=a b", "none,a.com/gpu=0"})
        BOOST_TEST_CONTEXT(value)
        {
            BOOST_TEST((why_not(value).kind == ErrorKind::Usage));
        }
}

BOOST_AUTO_TEST_CASE(the_host_decides_what_is_handed_out)
{
    Policy policy;
    policy.allow("a.com/gpu=0,c.com/npu");
    BOOST_TEST(chosen("a.com/gpu=0,c.com/npu=x", policy).size() == 3U);
    const Failure failure = why_not("a.com/gpu=1", policy);
    BOOST_TEST((failure.kind == ErrorKind::Denied));
    BOOST_TEST(failure.says("this host has 'a.com/gpu=0'"));
    BOOST_TEST(!failure.says("'a.com/gpu=2'"));
    policy.allow("c.com/npu"); // that of a key: both have to allow it
    BOOST_TEST((why_not("a.com/gpu=0", policy).kind == ErrorKind::Denied));
    Policy wide; // a key's list is no way around the host's either
    wide.allow("a.com/gpu=0");
    wide.allow("a.com/gpu");
    BOOST_TEST(chosen("a.com/gpu=0", wide).size() == 2U);
    BOOST_TEST((why_not("a.com/gpu=1", wide).kind == ErrorKind::Denied));
    Policy few;
    few.at_most(2);
    few.at_most(1, "the key");
    few.at_most(3);
    few.check_count(1);
    BOOST_TEST((failure_of([&] { few.check_count(2); }).kind == ErrorKind::Denied));
    BOOST_TEST(failure_of([&] { few.check_count(2); }).says("the key (--max-devices) allows"));
    for (const char *list : {"", "x", "a.com/gpu=", "a.com/gpu,"})
        BOOST_TEST((failure_of([&] { Policy().allow(list); }).kind == ErrorKind::Usage));
}

BOOST_AUTO_TEST_CASE(of_equal_paths_the_last_remains_and_deeper_mounts_come_later)
{
    const std::vector<SpecFile> one{
        {"/etc/cdi/a.yaml",
         0,
         {"0.5.0",
          "v/c",
          {{"x",
            {.nodes = {{"/dev/a", "/1", "", 0, 0}, {"/dev/b", "/2", "", 0, 0}, {"/dev/a", "/3", "", 0, 0}},
             .mounts = {{"/1", "/a/b/c", ""},
                        {"/2", "/a", ""},
                        {"/3", "/b/c/", ""},
                        {"/4", "/a", ""},
                        {"/5", "/b", ""}}}}},
          {.mounts = {{"/6", "/b", ""}}}}}};
    const auto edits = combine({{&one[0], &one[0].spec.devices[0]}});
    Words nodes;
    for (const DeviceNode &node : edits.nodes)
        nodes.push_back(node.host_path);
    BOOST_TEST(nodes == (Words{"/2", "/3"}), boost::test_tools::per_element());
    Words mounts;
    for (const Mount &mount : edits.mounts)
        mounts.push_back(mount.host_path);
    BOOST_TEST(mounts == (Words{"/4", "/5", "/3", "/1"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
