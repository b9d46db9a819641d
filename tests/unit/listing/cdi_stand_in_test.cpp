// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "listing/cdi_stand_in.h"
#include "support/expect.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(cdi_stand_in)

using namespace ogh;
using ogh::test::Failure;
using ogh::test::failure_of;
using ogh::test::TempDirectory;

namespace {

const VendorCdi vendor{"nvidia.com/gpu", {"nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service"}, {}};
const std::string vendor_yaml = "---\ncdiVersion: 0.5.0\ndevices:\n- name: \"0\"\nkind: nvidia.com/gpu\n";
const std::string unit = "usr/lib/systemd/system/nvidia-cdi-refresh.path";
const std::string wanted = "etc/systemd/system/multi-user.target.wants/nvidia-cdi-refresh.path";

Failure check(const TempDirectory &host)
{
    return failure_of([&] { check_stand_in(Sysroot(host.path()), vendor, "nvidia-devices"); });
}

std::string made_by_the_hook()
{
    Notes notes;
    return to_json(
        {"nvidia-devices", vendor.kind, "/x/nvidia-devices", {}, "/x/ldcache-update", {}, {{"0", "0"}}},
        notes);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_kind_of_a_specification)
{
    for (const char *text :
         {R"({"kind": "a.com/gpu", "devices": []})", R"({"Kind": "a.com/gpu"})", "kind: a.com/gpu",
          "# kind: b.com/x\nx:\n  kind: b.com/x\nkind: 'a.com/gpu' # it\r\n", "\"KIND\" : \"a.com/gpu\"\n"})
        BOOST_TEST(cdi_kind_of(text).value_or("nothing") == "a.com/gpu", text);
    for (const char *text : {"", "\n", "kind", "kind:", "kind:\n  a.com/gpu", "{kind: a.com/gpu}", "kind: *a",
                             "{}", "kinds: a.com/gpu", R"({"kind": 1})"})
        BOOST_TEST(!cdi_kind_of(text), text);
}

BOOST_AUTO_TEST_CASE(nobody_else_makes_devices_of_that_kind)
{
    const TempDirectory host;
    BOOST_TEST((check(host).kind == ErrorKind::None));
    host.file("etc/cdi/nvidia.json", made_by_the_hook());
    host.file("etc/cdi/srv.json", R"({"cdiVersion": "0.5.0", "kind": "io.oci-gpu-hooks/mount-srv"})");
    host.file("etc/cdi/other.yaml", "kind: nvidia.com/gpus # not nvidia.com/gpu\n");
    host.file("etc/cdi/nvidia.yml", vendor_yaml); // no engine reads that
    host.file("etc/cdi/empty.json", "");          // by the redirection into it
    host.directory("etc/cdi/directory.json");
    BOOST_TEST(check(host).message == "");
}

BOOST_AUTO_TEST_CASE(another_specification_of_that_kind)
{
    for (const char *path : {"etc/cdi/x.yaml", "run/cdi/x.json", "var/run/cdi/nvidia.yaml"}) {
        for (const std::string &text :
             {vendor_yaml, std::string(R"({"kind": "nvidia.com/gpu", "devices": [{}]})"),
              std::string("{kind: nvidia.com/gpu}")}) {
            const TempDirectory host;
            host.file(path, text);
            const Failure failure = check(host);
            BOOST_TEST((failure.kind == ErrorKind::BrokenHost));
            BOOST_TEST(failure.says("'nvidia.com/gpu'"));
            BOOST_TEST(failure.says("rm /" + std::string(path)), failure.message);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_specification_that_calls_the_hook_for_some_devices_only)
{
    const TempDirectory host;
    std::string text = made_by_the_hook();
    text.insert(text.rfind(']'),
                R"(, {"name": "1", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia1"}]}})");
    host.file("etc/cdi/nvidia.json", text);
    BOOST_TEST((check(host).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_CASE(a_link_to_a_specification_counts_once)
{
    const TempDirectory host;
    host.file("opt/nvidia", vendor_yaml);
    host.directory("run/cdi");
    host.directory("var");
    host.link("run/cdi/nvidia.yaml", "/opt/nvidia");
    host.link("var/run", "/run");
    BOOST_TEST(check(host).message.starts_with("'/run/cdi/nvidia.yaml' has devices"), check(host).message);
}

BOOST_AUTO_TEST_CASE(the_vendors_service)
{
    const TempDirectory host;
    host.file(unit, "");
    BOOST_TEST((check(host).kind == ErrorKind::None));
    host.directory("etc/systemd/system/multi-user.target.wants");
    host.link(wanted, "/" + unit);
    BOOST_TEST((check(host).kind == ErrorKind::BrokenHost));
    BOOST_TEST(check(host).says("systemctl disable --now nvidia-cdi-refresh.path"));
    host.file("dev/null", "");
    host.link("etc/systemd/system/nvidia-cdi-refresh.path", "/dev/null");
    BOOST_TEST((check(host).kind == ErrorKind::None), "it is masked");
}

BOOST_AUTO_TEST_SUITE_END()
