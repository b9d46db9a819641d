// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <functional>

#include <boost/test/unit_test.hpp>

#include "cdi/spec_parser.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(spec_parser)

using namespace ogh;
using namespace ogh::cdi;
using ogh::test::failure_of;

namespace {

std::string why_not(const std::string &text)
{
    return failure_of([&] { static_cast<void>(parse_spec(text)); }).message;
}

/** A specification of one device with these edits, as YAML of one line. */
std::string with_edits(const std::string &edits, const std::string &version = "0.5.0",
                       const std::string &more = "")
{
    return "{cdiVersion: " + version + ", kind: vendor.com/class, " + more +
           "devices: [{name: a, containerEdits: {" + edits + "}}]}";
}

std::string with_node(const std::string &node, const std::string &version = "0.5.0")
{
    return with_edits("deviceNodes: [{" + node + "}]", version);
}

std::string named(const std::string &kind, const std::string &name, const std::string &version = "0.6.0")
{
    return "{cdiVersion: " + version + ", kind: " + kind + ", devices: [{name: " + name +
           ", containerEdits: {env: [A=b]}}]}";
}

} // namespace

BOOST_AUTO_TEST_CASE(the_edits_of_a_device_that_nobody_wants_are_checked_and_left_out)
{
    const auto spec_of = [](const std::string &path) {
        return R"({"cdiVersion": "0.5.0", "devices": [
            {"name": "a", "containerEdits": {"deviceNodes": [{"path": ")" +
               path + R"("}]}},
            {"name": "b", "containerEdits": {"deviceNodes": [{"path": "/dev/b"}]}}],
            "kind": "v.com/c", "containerEdits": {"env": ["A=b"]}})";
    };
    const IsWanted b = [](std::string_view kind, std::string_view name) {
        return kind == "v.com/c" && name == "b";
    };
    const Spec spec = parse_spec(spec_of("/dev/a"), b);
    BOOST_TEST_REQUIRE(spec.devices.size() == 2U);
    BOOST_TEST((spec.devices[0] == Device{"a", {}}));
    BOOST_TEST((spec.devices[1] == Device{"b", {.nodes = {{.path = "/dev/b"}}}}));
    BOOST_TEST((spec.edits == ContainerEdits{.env = {"A=b"}}));
    BOOST_TEST(failure_of([&] {
                   static_cast<void>(parse_spec(spec_of(""), b));
               }).message.find("has no 'path'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(all_that_a_specification_says)
{
    const Spec spec = parse_spec(R"(cdiVersion: v1.1.0
kind: vendor.com/class
annotations: {vendor.com/note: true}
containerEdits:
  env: ["A=b=c"]
  additionalGids: [0, 44]
devices:
- name: 0
  annotations: {}
  containerEdits:
    deviceNodes:
    - {path: /dev/x, hostPath: /dev/y, type: u, major: 16, minor: 3, fileMode: 0660, permissions: rw, uid: 1, gid: 2}
    - path: /dev/z
    hooks:
    - {hookname: createContainer, path: /bin/x, args: [x, 1, true], env: [A=], timeout: 5}
    netDevices:
    - {hostInterfaceName: eth0, name: net1}
    intelRdt: {closID: x, schemata: ["a"]}
- name: b
  containerEdits:
    mounts:
    - {hostPath: /a, containerPath: /b, type: bind, options: [ro, bind]}
    - {hostPath: /c, CONTAINERPATH: /d, options: null}
)");
    BOOST_TEST(spec.version == "v1.1.0");
    BOOST_TEST(spec.kind == "vendor.com/class");
    BOOST_TEST((spec.edits == ContainerEdits{.env = {"A=b=c"}, .groups = {0, 44}}));
    BOOST_REQUIRE(spec.devices.size() == 2U);
    BOOST_TEST(spec.devices[0].name == "0");
    const DeviceNode first{"/dev/x", "/dev/y", "u", 16, 3, 0660, "rw", 1, 2};
    const ContainerEdits edits{.nodes = {first, {.path = "/dev/z", .host_path = "", .type = ""}},
                               .hooks = {{"createContainer", "/bin/x", {"x", "1", "true"}}},
                               .net_devices = {"eth0"},
                               .intel_rdt = true};
    BOOST_TEST((spec.devices[0].edits == edits));
    BOOST_TEST((spec.devices[1].edits.mounts ==
                std::vector<Mount>{{"/a", "/b", "bind", {"ro", "bind"}}, {"/c", "/d", "", {}}}));
}

BOOST_AUTO_TEST_CASE(json_is_yaml)
{
    const Spec spec = parse_spec(R"({"cdiVersion": "0.3.0", "kind": "v.com/c", "devices": [
	{"name": "a", "containerEdits": {"deviceNodes": [{"path": "\/dev\/\u0078", "fileMode": 432}]}}]})");
    BOOST_TEST(spec.devices.at(0).edits.nodes.at(0).path == "/dev/x");
    BOOST_TEST(spec.devices.at(0).edits.nodes.at(0).file_mode.value_or(0) == 0660U);
}

BOOST_AUTO_TEST_CASE(names)
{
    for (const char *kind : {"v/c", "a-b_c.d/x_y-1", "A1/b2", "v/c.d"})
        BOOST_TEST_CONTEXT(kind)
        {
            BOOST_TEST(why_not(named(kind, "a")) == "");
        }
    for (const char *kind :
         {"v", "/c", "v/", "1v/c", "v-/c", "v/1c", "v/c_", "v/c/d", "v w/c", "'v:w/c'", "''"})
        BOOST_TEST_CONTEXT(kind)
        {
            BOOST_TEST(why_not(named(kind, "a")) != "");
        }
    for (const char *name : {"a", "0", "0:1", "GPU-1_2.3", "all"})
        BOOST_TEST_CONTEXT(name)
        {
            BOOST_TEST(why_not(named("v/c", name)) == "");
        }
    for (const char *name : {"''", "'-a'", "a-", "'a b'", "a/b", "a=b", "'*'", "ä"})
        BOOST_TEST_CONTEXT(name)
        {
            BOOST_TEST(why_not(named("v/c", name)) != "");
        }
}

BOOST_AUTO_TEST_CASE(versions_have_what_they_have)
{
    struct Case {
        std::string since;
        std::string before;
        std::function<std::string(const std::string &)> spec;
    };
    const auto edits = [](const char *text) {
        return [text](const std::string &version) { return with_edits(text, version); };
    };
    const std::vector<Case> cases{
        {"0.4.0", "0.3.0", edits("mounts: [{hostPath: /a, containerPath: /b, type: bind}]")},
        {"0.5.0", "0.4.0", edits("deviceNodes: [{path: /dev/a, hostPath: /dev/b}]")},
        {"0.5.0", "0.4.0", [](const std::string &version) { return named("v/c", "0", version); }},
        {"0.6.0", "0.5.0", [](const std::string &version) { return named("v/c.d", "a", version); }},
        {"0.6.0", "0.5.0",
         [](const std::string &version) {
             return with_edits("env: [A=b]", version, "annotations: {a: b}, ");
         }},
        {"0.7.0", "0.6.0", edits("additionalGids: [0]")},
        {"0.7.0", "0.6.0", edits("intelRdt: {closID: x}")},
        {"0.7.0", "0.6.0", edits("intelRdt: {enableCMT: true}")},
        {"1.1.0", "1.0.0", edits("netDevices: [{hostInterfaceName: a, name: b}]")},
        {"1.1.0", "1.0.0", edits("intelRdt: {schemata: [a]}")},
        {"1.1.0", "1.0.0", edits("intelRdt: {schemata: []}")},
        {"1.1.0", "1.0.0", edits("intelRdt: {enableMonitoring: true}")}};
    for (const Case &each : cases)
        BOOST_TEST_CONTEXT(each.spec(each.since))
        {
            BOOST_TEST(why_not(each.spec(each.since)) == "");
            BOOST_TEST(why_not(each.spec(each.before)).find("does not have") != std::string::npos);
        }
    for (const char *version : {"0.3.0", "v0.3.0", "0.8.0", "1.0.0", "1.1.0"})
        BOOST_TEST_CONTEXT(version)
        {
            BOOST_TEST(why_not(with_edits("env: [A=b]", version)) == "");
        }
    for (const char *version : {"''", "0.2.0", "0.3", "0.9.0", "1.1.1", "2.0.0", "vv1.0.0", "null"})
        BOOST_TEST_CONTEXT(version)
        {
            BOOST_TEST(why_not(with_edits("env: [A=b]", version)) != "");
        }
    BOOST_TEST(why_not(with_edits("intelRdt: {enableCMT: true}", "1.1.0")) != "");
    BOOST_TEST(why_not(with_edits("intelRdt: {closID: /, enableMonitoring: false}", "0.7.0")) == "");
    BOOST_TEST(why_not(with_node("path: /dev/a, permissions: none", "0.3.0")) == "");
}

BOOST_AUTO_TEST_CASE(annotations_are_any_texts)
{
    for (const char *annotation : {"vendor.com/x: 1", "-a: ''", "a b: ~", "a/b/c: true"})
        BOOST_TEST_CONTEXT(annotation)
        {
            const std::string field = "annotations: {" + std::string(annotation) + "}, ";
            BOOST_TEST(why_not(with_edits("env: [A=b]", "0.6.0", field)) == "");
        }
    BOOST_TEST(why_not(with_edits("env: [A=b]", "0.6.0", "annotations: {a: [b]}, ")) != "");
    BOOST_TEST(why_not(with_edits("env: [A=b]", "0.6.0", "annotations: {a: b, a: c}, ")) != "");
}

BOOST_AUTO_TEST_CASE(what_is_not_known_or_twice_is_refused)
{
    for (const std::string &text :
         {with_edits("env: [A=b]", "0.5.0", "other: 1, "), with_edits("env: [A=b], other: null"),
          with_edits("env: [A=b], env: [A=c]"), with_edits("env: [A=b], Env: [A=c]"),
          with_node("path: /dev/a, mode: 1"), with_edits("hooks: [{hookName: prestart, path: /a, other: 1}]"),
          with_edits("<<: {env: [A=b]}, env: [A=b]"), with_edits("[env]: [A=b]"),
          with_edits("~: 1, env: [A=b]"), with_edits("'<<': {env: [A=b]}"),
          with_edits("env: [A=b]", "0.6.0", "annotations: {18446744073709551615: a}, "),
          with_edits("additionalGIDs: [1], additionalGids: [1]", "0.7.0")})
        BOOST_TEST_CONTEXT(text)
        {
            BOOST_TEST(why_not(text) != "");
        }
    BOOST_TEST(why_not(with_edits("<<: {env: [A=b]}")).find("a merge, '<<', is not understood here") !=
               std::string::npos);
    std::string annotations;
    for (int i = 0; i < 20; ++i)
        annotations += "a" + std::to_string(i) + ": b, A" + std::to_string(i) + ": b, ";
    const auto annotated = [&](const std::string &more) {
        return why_not(with_edits("env: [A=b]", "0.6.0", "annotations: {" + annotations + more + "}, "));
    };
    BOOST_TEST(annotated("") == "");
    BOOST_TEST(annotated("a7: b").find("'a7' is there twice") != std::string::npos);
    BOOST_TEST(why_not("{x: &a {env: [A=b]}, cdiVersion: 0.5.0, kind: v/c}") != "");
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused)
{
    constexpr auto refused = std::to_array<const char *>({
        "",
        "[]",
        "x",
        "{cdiVersion: 0.5.0, kind: v/c}",
        "{cdiVersion: 0.5.0, kind: v/c, devices: []}",
        "{cdiVersion: 0.5.0, kind: v/c, devices: {}}",
        "{cdiVersion: 0.5.0, kind: v/c, devices: [a]}",
        "{cdiVersion: 0.5.0, kind: v/c, devices: [{name: a}]}",
        "{cdiVersion: 0.5.0, kind: v/c, devices: [{name: a, containerEdits: {}}]}",
        "{cdiVersion: 0.5.0, kind: v/c, devices: [{name: a, containerEdits: {env: []}}]}",
        "{cdiVersion: 0.5.0, kind: v/c, devices: [{containerEdits: {env: [A=b]}}]}",
        "{cdiVersion: 0.5.0, kind: v/c, containerEdits: [], devices: [{name: a, containerEdits: {env: "
        "[A=b]}}]}",
        "{kind: v/c, devices: [{name: a, containerEdits: {env: [A=b]}}]}",
        "{cdiVersion: 0.5.0, kind: v/c, devices: [{name: a, containerEdits: {env: [A=b]}}, {name: a, "
        "containerEdits: {env: [A=b]}}]}",
    });
    for (const char *text : refused)
        BOOST_TEST_CONTEXT(text)
        {
            BOOST_TEST(why_not(text) != "");
        }
    constexpr auto edits = std::to_array<const char *>({
        "env: [A]",
        "env: [=b]",
        "env: A=b",
        "env: [[A=b]]",
        "deviceNodes: [{}]",
        "deviceNodes: [{path: /dev/a, type: x}]",
        "deviceNodes: [{path: /dev/a, permissions: rwx}]",
        "deviceNodes: [{path: /dev/a, major: 1.5}]",
        "deviceNodes: [{path: /dev/a, major: '1'}]",
        "deviceNodes: [{path: /dev/a, major: true}]",
        "deviceNodes: [{path: /dev/a, uid: -1}]",
        "deviceNodes: [{path: /dev/a, fileMode: 4294967296}]",
        "deviceNodes: [{path: \"/dev/a\\0b\"}]",
        "mounts: [{hostPath: /a}]",
        "mounts: [{containerPath: /a}]",
        "mounts: [{hostPath: /a, containerPath: /b, options: ro}]",
        "hooks: [{hookName: never, path: /a}]",
        "hooks: [{hookName: prestart}]",
        "hooks: [{hookName: prestart, path: /a, env: [x]}]",
        "hooks: [{hookName: prestart, path: /a, timeout: x}]",
        "intelRdt: {closID: a/b}",
        "intelRdt: {closID: ..}",
        "intelRdt: {enableMonitoring: 1}",
        "netDevices: [{hostInterfaceName: a}]",
        "netDevices: [{hostInterfaceName: a, name: b}, {hostInterfaceName: a, name: c}]",
        "netDevices: [{hostInterfaceName: a, name: b}, {hostInterfaceName: c, name: b}]",
    });
    for (const char *text : edits)
        BOOST_TEST_CONTEXT(text)
        {
            BOOST_TEST(why_not(with_edits(text, "1.1.0")) != "");
        }
    BOOST_TEST(why_not(with_node("path: /dev/a, other: 1")).starts_with("line 1: "));
    BOOST_TEST((failure_of([] { static_cast<void>(parse_spec("[")); }).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_SUITE_END()
