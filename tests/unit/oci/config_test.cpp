// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>

#include "oci/config.h"
#include "support/expect.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(config)

using namespace ogh;
using ogh::test::failure_of;
using ogh::test::TempDirectory;

BOOST_AUTO_TEST_CASE(only_what_is_needed_is_read)
{
    const Config config = parse_config(R"({"ociVersion":7,"root":{"path":"/r","readonly":true},
        "annotations":{"a":"b"},"process":{"env":["A=1","B="],"cwd":3},"linux":{"seccomp":{"syscalls":[[[]]]},
        "mountLabel":"system_u:object_r:container_file_t:s0:c1,c2","x":1}})",
                                       "/bundle");
    BOOST_TEST(config.rootfs == "/r");
    BOOST_TEST(config.annotations.at("a") == "b");
    BOOST_TEST(config.environment.size() == 2);
    BOOST_TEST(config.read_only);
    BOOST_TEST(config.mount_label == "system_u:object_r:container_file_t:s0:c1,c2");
}

BOOST_AUTO_TEST_CASE(the_cgroup_is_as_the_engine_names_it)
{
    for (const char *path : {"/user.slice/x", "user.slice:crio:3f2a", ""}) {
        const std::string text =
            R"({"root":{"path":"/r"},"linux":{"cgroupsPath":")" + std::string(path) + R"(","resources":[]}})";
        BOOST_TEST(parse_config(text, "/b").cgroups_path == path);
    }
}

BOOST_AUTO_TEST_CASE(executables_of_hooks_of_every_stage)
{
    const Config config = parse_config(R"({"root":{"path":"/r"},"hooks":{
        "prestart":[{"path":"/a","timeout":30,"args":["x",{"path":"/no"}]},{"path":"/b","timeout":"no"}],"later":[{"path":"/c","env":["A=1"]}]}})",
                                       "/b");
    // nlohmann/json sorts the stages.
    BOOST_TEST((config.hooks == std::vector<HookEntry>{{"/c"}, {"/a", 30}, {"/b"}}));
}

BOOST_AUTO_TEST_CASE(the_program_and_what_is_bound_where)
{
    const Config config =
        parse_config(R"({"root":{"path":"/r"},"process":{"args":["/tmp/gdn-init","x"]},"mounts":[
        {"destination":"/proc","type":"proc"},{"destination":"/a/","type":"bind","options":["rbind"]},
        {"destination":"/b"},{"type":"bind"},{"destination":7,"type":"bind"},{"destination":"/c","type":[]},7,
        {"source":"/dev/null","destination":"/d","type":"bind"}]})",
                     "/b");
    BOOST_TEST(config.program == "/tmp/gdn-init");
    const std::vector<BindMount> binds{{"/a/"}, {}, {}, {"/d", "/dev/null"}};
    BOOST_TEST((config.binds == binds));
    for (const char *odd : {R"("process":{"args":[]})", R"("process":{"args":[1]})",
                            R"("process":{"args":"x"})", R"("mounts":{})", R"("mounts":7)"}) {
        const std::string text = R"({"root":{"path":"/r"},)" + std::string(odd) + "}";
        BOOST_TEST(parse_config(text, "/b").program.empty(), odd);
        BOOST_TEST(parse_config(text, "/b").binds.empty(), odd);
    }
}

BOOST_AUTO_TEST_CASE(devices_and_whether_all_of_them_are_allowed)
{
    const auto config = [](const std::string &linux_member) {
        return parse_config(R"({"root":{"path":"/r"},"linux":)" + linux_member + "}", "/b");
    };
    const std::vector<std::string> paths{"/dev/kfd", "/dev/dri/renderD128"};
    BOOST_TEST(
        config(R"({"devices":[{"path":"/dev/kfd"},7,{"path":7},{"path":"/dev/dri/renderD128"}]})").devices ==
            paths,
        boost::test_tools::per_element());
    for (const char *odd :
         {"{}", R"({"devices":null,"resources":null})", R"({"devices":7,"resources":{"devices":{}}})",
          R"({"resources":{"devices":[7,{"allow":7},{"allow":true,"type":"c"}]}})",
          R"({"resources":{"devices":[{"allow":true,"major":1,"minor":3}]}})",
          R"({"resources":{"devices":[{"allow":true},{"allow":false,"access":"rwm"}]}})"}) {
        BOOST_TEST(config(odd).devices.empty(), odd);
        BOOST_TEST(!config(odd).allows_every_device, odd);
    }
    for (const char *all : {R"([{"allow":true,"access":"rwm"}])",
                            R"([{"allow":false},{"allow":true,"type":"a","major":-1,"minor":-1}])"})
        BOOST_TEST(config(R"({"resources":{"devices":)" + std::string(all) + "}}").allows_every_device, all);
}

BOOST_AUTO_TEST_CASE(whether_io_uring_is_refused)
{
    const auto refuses = [](const std::string &filter) {
        return parse_config(R"({"root":{"path":"/r"},"linux":{"seccomp":)" + filter + "}}", "/b")
            .refuses_io_uring;
    };
    const std::string all_but =
        R"({"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"action":"SCMP_ACT_ALLOW","names":)";
    const std::string only =
        R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["io_uring_setup"],"action":)";
    BOOST_TEST(refuses(all_but + R"(["read","write"]}]})"));
    BOOST_TEST(!refuses(all_but + R"(["read","io_uring_setup"]}]})"));
    BOOST_TEST(refuses(only + R"("SCMP_ACT_ERRNO"}]})"));
    BOOST_TEST(refuses(only + R"("SCMP_ACT_KILL_PROCESS","args":[]}]})"));
    BOOST_TEST(!refuses(only + R"("SCMP_ACT_ERRNO","args":[{"index":0,"value":7,"op":"SCMP_CMP_EQ"}]}]})"));
    for (const char *action : {"ALLOW", "LOG", "NOTIFY", "TRACE", "LATER"})
        BOOST_TEST(!refuses(only + "\"SCMP_ACT_" + action + "\"}]}"), action);
    for (const char *odd : {"null", "7", "{}", "[]", R"({"syscalls":[7,{"names":"io_uring_setup"}]})"})
        BOOST_TEST(!refuses(odd), odd);
}

BOOST_AUTO_TEST_CASE(whatever_is_wrong_with_a_hook_is_passed_over)
{
    for (const char *hooks :
         {R"({})", R"({"prestart":null,"x":{"path":"/no"},"y":"/no"})",
          R"({"prestart":[null,1,"/no",["/no"],{},{"path":1},{"path":["/no"]},{"args":["/no"]}]})"}) {
        const std::string text = R"({"root":{"path":"/r"},"hooks":)" + std::string(hooks) + "}";
        BOOST_TEST(parse_config(text, "/b").hooks.empty(), hooks);
    }
    const Config config =
        parse_config(R"({"root":{"path":"/r"},"hooks":{"prestart":[1,{"path":"/a"}]}})", "/b");
    BOOST_TEST((config.hooks == std::vector<HookEntry>{{"/a"}}));
}

BOOST_AUTO_TEST_CASE(what_is_absent_is_off)
{
    const Config config = parse_config(R"({"root":{"path":"/r"},"linux":{"seccomp":1}})", "/b");
    BOOST_TEST(!config.read_only);
    BOOST_TEST(config.mount_label.empty());
    BOOST_TEST(config.cgroups_path.empty());
    BOOST_TEST(config.hooks.empty());
}

BOOST_AUTO_TEST_CASE(a_relative_root_is_below_the_bundle)
{
    BOOST_TEST(parse_config(R"({"root":{"path":"rootfs"}})", "/b").rootfs == "/b/rootfs");
}

BOOST_AUTO_TEST_CASE(wrong_types_are_refused)
{
    for (const char *text :
         {R"({"root":"r"})", R"({"root":{"path":3}})", R"({"root":{}})", R"({})", R"({"root":{"path":""}})",
          R"({"root":{"path":"/r"},"annotations":[]})", R"({"root":{"path":"/r"},"annotations":{"a":1}})",
          R"({"root":{"path":"/r"},"process":{"env":{}}})", R"({"root":{"path":"/r"},"process":{"env":[1]}})",
          R"({"root":{"path":"/r","readonly":"yes"}})", R"({"root":{"path":"/r"},"linux":{"mountLabel":[]}})",
          R"({"root":{"path":"/r"},"linux":{"cgroupsPath":7}})", R"({"root":{"path":"/r"},"hooks":[]})",
          R"({"root":{"path":"/r\u0000"}})", R"({"root":{"path":"/r"},"annotations":{"a":"b\u0000"}})"}) {
        const auto failure = failure_of([&] { parse_config(text, "/b"); });
        BOOST_TEST((failure.kind == ErrorKind::Failure), text);
        BOOST_TEST(failure.says("config.json"), failure.message);
    }
}

BOOST_AUTO_TEST_CASE(what_runtimes_read_differently_is_refused)
{
    const auto why_not = [](const std::string &members) {
        return failure_of([&] { parse_config(R"({"root":{"path":"/r"},)" + members + "}", "/b"); }).message;
    };
    for (const char *name : {"Annotations", "ANNOTATIONS", "annotation\u017f", "an\u006eotationS"})
        BOOST_TEST(
            why_not("\"" + std::string(name) + R"(":{"a":"b"})").find("is 'annotations' to some runtimes") !=
                std::string::npos,
            name);
    for (const char *members : {R"("annotations":{},"annotations":{})", R"("annotations":{"a":"b","a":"c"})",
                                R"("hooks":{"x":[],"X":[]})", R"("process":{"env":[],"Env":[]})",
                                R"("mounts":[{"type":"bind","type":"tmpfs"}])", R"("x":1,"x":2)",
                                R"("\u0061nnotations":{},"annotations":{})"})
        BOOST_TEST(why_not(members).find("is there twice") != std::string::npos, members);
    for (
        const char *members :
        {R"("process":{"Env":[]})", R"("Linux":{})", R"("linux":{"lin\u212a":1,"cgroupspath":"x"})",
         R"("mounts":[{"Destination":"/a"}])", R"("linux":{"resources":{"devices":[{"Allow":true}]}})",
         R"("linux":{"seccomp":{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"Names":["io_uring_setup"]}]}})",
         R"("linux":{"seccomp":{"syscalls":[{"names":["io_uring_setup"],"Action":"SCMP_ACT_ALLOW"}]}})"})
        BOOST_TEST(why_not(members).find("to some runtimes") != std::string::npos, members);
    BOOST_TEST(
        why_not(
            R"("annotations":{"Type":"a","type":"b","PATH":"c"},"linux":{"sysctl":{"Root":"x","root":"y"}},
        "x":{"y":1,"z":[{"y":1},{"y":2}]},"y":2)") == "");
}

BOOST_AUTO_TEST_CASE(a_long_file_takes_linear_time)
{
    // With quadratic time this takes minutes.
    std::string text = R"({"linux":{"x":[)";
    std::string objects;
    for (int i = 0; i < 200000; ++i)
        objects += "{},";
    text += objects + R"(0]},"root":{"path":"/r","x":[)" + objects + R"(0]}})";
    BOOST_TEST(parse_config(text, "/b").rootfs == "/r");
}

BOOST_AUTO_TEST_CASE(a_dropped_member_leaves_no_trace)
{
    const Config config = parse_config(R"({"x":{"root":{"path":"/wrong"}},"y":[{"root":1}],"z":1,
        "root":{"path":"/r","more":[{"path":"/wrong"}]},"a":{"annotations":{"k":"wrong"}}})",
                                       "/b");
    BOOST_TEST(config.rootfs == "/r");
    BOOST_TEST(config.annotations.empty());
}

BOOST_AUTO_TEST_CASE(the_last_of_equal_variables_counts)
{
    const Config config =
        parse_config(R"({"root":{"path":"/r"},"process":{"env":["A=1","AB=3","A=2","C=="]}})", "/b");
    BOOST_TEST(environment_value(config, "A").value() == "2");
    BOOST_TEST(environment_value(config, "C").value() == "=");
    BOOST_TEST(!environment_value(config, "D").has_value());
}

BOOST_AUTO_TEST_CASE(cve_2026_57231_an_entry_without_an_equals_sign_is_no_variable)
{
    const Config config =
        parse_config(R"({"root":{"path":"/r"},"process":{"env":["A=1","A","AB","*","","="]}})", "/b");
    BOOST_TEST(environment_value(config, "A").value() == "1");
    for (const char *name : {"AB", "*", "B"})
        BOOST_TEST(!environment_value(config, name).has_value(), name);
}

BOOST_AUTO_TEST_CASE(a_symlink_or_fifo_is_not_read)
{
    const TempDirectory bundle;
    BOOST_TEST(failure_of([&] { read_config(bundle.path()); }).says("config.json"));
    bundle.file("real.json", R"({"root":{"path":"/r"}})");
    bundle.link("config.json", "real.json");
    BOOST_TEST(failure_of([&] { read_config(bundle.path()); }).says("config.json"));
    std::filesystem::remove(bundle.path("config.json"));
    BOOST_REQUIRE(::mkfifo(bundle.path("config.json").c_str(), 0600) == 0);
    BOOST_TEST(failure_of([&] { read_config(bundle.path()); }).says("no regular file"));
}

BOOST_AUTO_TEST_CASE(a_huge_file_is_not_read_whole)
{
    const TempDirectory bundle;
    bundle.file("config.json");
    std::filesystem::resize_file(bundle.path("config.json"), std::uintmax_t{1} << 40U);
    BOOST_TEST(failure_of([&] { read_config(bundle.path()); }).says("larger than 16777216 bytes"));
}

BOOST_AUTO_TEST_CASE(the_user_is_that_of_the_process)
{
    const auto user = [](const std::string &process) {
        return parse_config(R"({"root": {"path": "/r"}, "process": )" + process + "}", "/b").user;
    };
    BOOST_TEST((user("{}") == ProcessUser()));
    BOOST_TEST((user(R"({"user": {"uid": 1, "gid": 2, "additionalGids": [3, 4], "umask": 7}})") ==
                ProcessUser{1, 2, {3, 4}, false}));
    BOOST_TEST((user(R"({"user": {"uid": 4294967294}})") == ProcessUser{4294967294U, 0, {}, false}));
    const std::string capabilities = R"({"capabilities": {"permitted": ["CAP_DAC_OVERRIDE"], "effective": )";
    BOOST_TEST(!user(capabilities + R"(["CAP_CHOWN"]}})").overrides_permissions);
    BOOST_TEST(user(capabilities + R"(["CAP_CHOWN", "CAP_DAC_OVERRIDE"]}})").overrides_permissions);
    for (const char *bad : {R"({"uid": -1})", R"({"uid": 4294967295})", R"({"gid": "0"})", R"({"uid": 1.5})",
                            R"({"additionalGids": 5})", R"({"additionalGids": [4294967295]})"})
        BOOST_CHECK_THROW(static_cast<void>(user(R"({"user": )" + std::string(bad) + "}")), Error);
}

BOOST_AUTO_TEST_SUITE_END()
