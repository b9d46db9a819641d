// SPDX-License-Identifier: Apache-2.0
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include <array>
#include <map>

#include <boost/test/unit_test.hpp>

#include "cdi-devices/plan/plan.h"
#include "libraries/directory_libraries.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(cdi_devices_plan)

using namespace ogh;
using namespace ogh::cdi;
using namespace ogh::cdi_devices;
using ogh::test::Failure;
using ogh::test::failure_of;

namespace {

const HostFile char_node{"/host/dev/x", S_IFCHR | 0640, makedev(7, 9)};
const HostFile block_node{"/host/dev/x", S_IFBLK | 0600, makedev(8, 1)};
const HostFile nothing{"/host/dev/x", 0, 0};

DeviceNode node(std::string type = "", std::int64_t major = 0, std::int64_t minor = 0)
{
    return {"/dev/in/x", "/dev/x", std::move(type), major, minor};
}

/** @param inputs besides what the edits say and the host has */
Edits planned(const ContainerEdits &edits, const HostFile &host, PlanInputs inputs, Notes &notes)
{
    for (const DeviceNode &each : edits.nodes)
        inputs.files.nodes.try_emplace(host_path_of(each), host);
    for (const Mount &each : edits.mounts)
        inputs.files.mounts.try_emplace(each.host_path, host);
    inputs.edits = edits;
    inputs.actions = vendor_actions(edits.hooks);
    return plan(inputs, notes);
}

Edits planned(const ContainerEdits &edits, const HostFile &host = nothing, const PlanInputs &inputs = {})
{
    Notes notes;
    return planned(edits, host, inputs, notes);
}

NodeEdit node_of(const DeviceNode &node, const HostFile &host, const NodeOwner &user = {})
{
    return planned({.nodes = {node}}, host, {.user = user}).nodes.at(0);
}

Failure why_not(const ContainerEdits &edits, const HostFile &host = nothing)
{
    return failure_of([&] { planned(edits, host); });
}

MountEdit mount_of(std::vector<std::string> options, Writable writable = Writable::Stated,
                   mode_t mode = S_IFDIR)
{
    const Mount mount{"/a", "/b/c", "", std::move(options)};
    return planned({.mounts = {mount}}, {"/host/a", mode, 0}, {.writable = writable}).mounts.at(0);
}

ContainerEdits mount_at(const std::string &path)
{
    return {.mounts = {{"/a", path, "", {"ro"}}}};
}

ContainerEdits hook_with(std::vector<std::string> args, const std::string &path = "/usr/bin/nvidia-cdi-hook",
                         const std::string &stage = "createContainer")
{
    return {.hooks = {{stage, path, std::move(args)}}};
}

constexpr unsigned all_access = access_read | access_write | access_mknod;

} // namespace

BOOST_AUTO_TEST_CASE(what_a_node_does_not_say_is_the_hosts)
{
    BOOST_TEST((node_of(node(), char_node) ==
                NodeEdit{"/dev/in/x", "/host/dev/x", 7, 9, 0640, S_IFCHR, all_access, {}}));
    BOOST_TEST((node_of(node("b"), block_node) ==
                NodeEdit{"/dev/in/x", "/host/dev/x", 8, 1, 0600, S_IFBLK, all_access, {}}));
    // The minor number alone says nothing; the major alone does.
    BOOST_TEST(node_of(node("", 0, 4), char_node).minor == 9U);
    BOOST_TEST(node_of(node("", 5), char_node).major == 5U);
    BOOST_TEST(node_of(node("", 5), char_node).minor == 0U);
}

BOOST_AUTO_TEST_CASE(a_whole_node_needs_none_of_the_host)
{
    BOOST_TEST((node_of(node("c", 5, 6), nothing) ==
                NodeEdit{"/dev/in/x", "/host/dev/x", 5, 6, 0666, S_IFCHR, all_access, {}}));
    BOOST_TEST(node_of(node("u", 5, 6), nothing).type == mode_t{S_IFCHR});
    BOOST_TEST(node_of(node("c", 5, 6), char_node).mode == mode_t{0640});
    const NodeEdit fifo = node_of(node("p"), nothing);
    BOOST_TEST((fifo == NodeEdit{"/dev/in/x", "/host/dev/x", 0, 0, 0666, S_IFIFO, 0, {}}));
}

BOOST_AUTO_TEST_CASE(what_a_node_says_is_so)
{
    DeviceNode said = node("c", 5, 6);
    said.file_mode = 0106604; // a mode of stat(2): only its permissions count
    said.permissions = "mr";
    said.uid = 0;
    const NodeEdit edit = node_of(said, char_node, {1000, 100});
    BOOST_TEST(edit.mode == mode_t{0604});
    BOOST_TEST(edit.access == (access_read | access_mknod));
    BOOST_TEST((edit.owner == NodeOwner{0, 100}));
    said.permissions = "none";
    BOOST_TEST(node_of(said, char_node).access == 0U);
}

BOOST_AUTO_TEST_CASE(a_node_that_contradicts_the_host_is_refused)
{
    const auto refused = [](const DeviceNode &asked, const HostFile &host, const char *why) {
        const Failure failure = why_not({.nodes = {asked}}, host);
        return failure.kind == ErrorKind::BrokenHost && failure.says(why);
    };
    BOOST_TEST(refused(node(), nothing, "there is no '/dev/x'"));
    BOOST_TEST(refused(node("b"), char_node, "has the type 'b'"));
    BOOST_TEST(refused(node("u"), char_node, "has the type 'u'"));
    BOOST_TEST(refused(node(), {"/host/dev/x", S_IFLNK, 0}, "is a symlink"));
    BOOST_TEST(refused(node(), {"/host/dev/x", S_IFREG, 0}, "is no device"));
    BOOST_TEST(refused(node("c", 4096), char_node, "which no device has"));
    BOOST_TEST(refused(node("c", -1), char_node, "which no device has"));
}

BOOST_AUTO_TEST_CASE(mounts_are_read_only_unless_they_say_otherwise)
{
    BOOST_TEST((mount_of({"bind", "nosuid", "rprivate"}) ==
                MountEdit{"/host/a", "/b/c", Kind::Directory, true, false, false, 0}));
    BOOST_TEST(!mount_of({"rw", "rbind"}).read_only);
    BOOST_TEST(mount_of({"rw", "rbind"}).recursive);
    BOOST_TEST(mount_of({"rw", "ro"}).read_only);
    BOOST_TEST(mount_of({"ro"}, Writable::Spec).read_only);
    BOOST_TEST(!mount_of({}, Writable::Spec).read_only);
    BOOST_TEST(mount_of({"rw"}, Writable::Never).read_only);
    BOOST_TEST((mount_of({}, Writable::Stated, S_IFSOCK).kind == Kind::Socket));
    BOOST_TEST(mount_of({"noexec", "noatime"}).attributes == (MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOATIME));
    BOOST_TEST((failure_of([] { mount_of({"exec"}); }).kind == ErrorKind::Denied));
    BOOST_TEST((failure_of([] { mount_of({"ro,rw"}); }).kind == ErrorKind::Denied));
    BOOST_TEST((failure_of([] { mount_of({}, Writable::Stated, S_IFCHR); }).kind == ErrorKind::Denied));
    BOOST_TEST((failure_of([] { mount_of({}, Writable::Stated, 0); }).kind == ErrorKind::BrokenHost));
    BOOST_TEST(
        (why_not({.mounts = {{"/a", "/b", "tmpfs", {}}}}, {"/a", S_IFDIR, 0}).kind == ErrorKind::Denied));
}

BOOST_AUTO_TEST_CASE(some_places_are_nobodys)
{
    const HostFile directory{"/host/a", S_IFDIR, 0};
    for (const char *path : {"/", "//", "/.", "/proc", "/proc/x", "/sys/class", "/usr/local/nvidia",
                             "/usr/local/nvidia/.oci-gpu-hooks/a", "/usr/local", "/usr", "/dev", "/etc",
                             "/etc/hosts", "/run", "/dev/shm", "/./proc/"})
        BOOST_TEST_CONTEXT(path)
        {
            BOOST_TEST((why_not(mount_at(path), directory).kind == ErrorKind::Denied));
        }
    for (const char *path : {"", "a", "/a/../b", "/..", "/a/..", "/../a", "/a..b/../c"})
        BOOST_TEST_CONTEXT(path)
        {
            BOOST_TEST((why_not(mount_at(path), directory).kind == ErrorKind::BrokenHost));
        }
    for (const char *path : {"/process", "/dev/dri", "/etc/hosts.d", "/usr/local/nvidia2",
                             "/usr/local/nvidia/lib64", "/usr/lib/a b", "/a..b/..c/d..", "/.../a"})
        BOOST_TEST_CONTEXT(path)
        {
            BOOST_TEST(why_not(mount_at(path), directory).message == "");
        }
    BOOST_TEST(planned(mount_at("//a/./b/"), directory).mounts.at(0).container_path == "/a/b");
    for (const char *path : {"/x", "/dev", "/dev/null", "/dev/pts/0/..", "/tmp/dev/x"})
        BOOST_TEST_CONTEXT(path)
        {
            BOOST_TEST(why_not({.nodes = {{path, "/dev/x", "c", 1}}}).message != "");
        }
}

BOOST_AUTO_TEST_CASE(a_vendors_links_are_made_without_the_vendors_program)
{
    const std::vector<LinkEdit> expected{{"/usr/lib/b.so", "b.so.1"}, {"/c", "../d"}};
    const std::vector<std::string> args{"create-symlinks", "--link", "b.so.1::/usr/lib/b.so",
                                        "--link=../d::/c"};
    const auto with = [&](std::vector<std::string> words) {
        words.insert(words.end(), args.begin(), args.end());
        return words;
    };
    BOOST_TEST((planned(hook_with(with({"nvidia-cdi-hook"}))).links == expected));
    BOOST_TEST(
        (planned(hook_with(with({"/usr/bin/nvidia-ctk", "hook"}), "/opt/nvidia-ctk")).links == expected));
    for (const ContainerEdits &edits :
         {hook_with(with({"nvidia-ctk"}), "/opt/nvidia-ctk"),
          hook_with(with({"other"}), "/opt/other"),
          hook_with(with({"nvidia-cdi-hook"}), "/usr/bin/nvidia-cdi-hook", "startContainer"),
          hook_with({}),
          hook_with({"nvidia-cdi-hook"}),
          hook_with({"nvidia-cdi-hook", "update-ldcache", "--folder", "/"}),
          hook_with({"nvidia-cdi-hook", "update-ldcache", "--folder", "/a:/b"}),
          hook_with({"nvidia-cdi-hook", "update-ldcache", "--other", "/a"}),
          hook_with({"nvidia-cdi-hook", "update-ldcache", "/a"}),
          hook_with(
              {"nvidia-cdi-hook", "enable-cuda-compat", "--host-cuda-version=1", "--host-cuda-version=2"}),
          hook_with({"nvidia-cdi-hook", "enable-cuda-compat", "--host-cuda-version=1",
                     "--cuda-compat-container-root=/a:/b"}),
          hook_with({"nvidia-cdi-hook", "enable-cuda-compat", "--host-driver-version=1",
                     "--host-driver-version=2"}),
          hook_with({"nvidia-cdi-hook", "disable-device-node-modification", "--other=1"}),
          hook_with({"nvidia-cdi-hook", "chmod", "--path", "/dev/x"}),
          hook_with({"nvidia-cdi-hook", "chmod", "--mode", "4755", "--path", "/dev/x"}),
          hook_with({"nvidia-cdi-hook", "chmod", "--mode", "0o7", "--path", "/dev/x"}),
          hook_with({"nvidia-cdi-hook", "chmod", "--mode", "666", "--path", "/etc/shadow"}),
          hook_with({"nvidia-cdi-hook", "chmod", "--mode", "777", "--path", "/dev/dri"}),
          hook_with({"nvidia-cdi-hook", "create-symlinks", "--link"}),
          hook_with({"nvidia-cdi-hook", "create-symlinks", "--link", "a::"}),
          hook_with({"nvidia-cdi-hook", "create-symlinks", "--link", "::/a"}),
          hook_with({"nvidia-cdi-hook", "create-symlinks", "--link", "a:/b"}),
          hook_with({"nvidia-cdi-hook", "create-symlinks", "--link", "a::/proc/b"}),
          hook_with({"nvidia-cdi-hook", "create-symlinks", "--other", "a::/b"})})
        BOOST_TEST((why_not(edits).kind == ErrorKind::Denied));
}

BOOST_AUTO_TEST_CASE(the_directories_of_libraries_are_those_of_all_hooks)
{
    const auto hook = [](std::vector<std::string> args) {
        args.insert(args.begin(), "nvidia-cdi-hook");
        return SpecHook{"createContainer", "/usr/bin/nvidia-cdi-hook", std::move(args)};
    };
    const VendorActions actions =
        vendor_actions({hook({"update-ldcache", "--folder", "/usr/lib/a/", "--ldconfig-path=/sbin/ldconfig"}),
                        hook({"update-ldcache", "--folder=/usr/lib//a", "--folder", "/opt/b"}),
                        hook({"enable-cuda-compat", "--host-driver-version=555.42"})});
    BOOST_TEST(actions.library_directories == (std::vector<std::string>{"/usr/lib/a", "/opt/b"}),
               boost::test_tools::per_element());
    BOOST_TEST((actions.compat == std::vector<CompatRequest>{{"555.42", "", "/usr/local/cuda/compat"}}));
    BOOST_TEST((!actions.masks_params && !actions.limits_egl && actions.links.empty()));
}

BOOST_AUTO_TEST_CASE(forward_compatibility_is_for_a_driver_or_a_version_of_cuda)
{
    const auto asked = [](std::vector<std::string> options) {
        options.insert(options.begin(), {"nvidia-cdi-hook", "enable-cuda-compat"});
        const SpecHook hook{"createContainer", "/usr/bin/nvidia-cdi-hook", std::move(options)};
        return vendor_actions({hook, hook}).compat;
    };
    using Requests = std::vector<CompatRequest>;
    const std::string orin = "/usr/local/cuda/compat_orin";
    BOOST_TEST((asked({"--host-cuda-version=12.6", "--cuda-compat-container-root=" + orin}) ==
                Requests{{"", "12.6", orin}}));
    BOOST_TEST((asked({"--host-cuda-version", "12.6", "--host-driver-version", "540.4"}) ==
                Requests{{"540.4", "12.6", "/usr/local/cuda/compat"}}));
    BOOST_TEST(asked({}).empty());
    BOOST_TEST(asked({"--cuda-compat-container-root=" + orin}).empty());
    BOOST_TEST(asked({"--host-driver-version=", "--host-cuda-version="}).empty());
}

BOOST_AUTO_TEST_CASE(a_node_gets_the_permissions_that_chmod_names)
{
    DeviceNode other = node();
    other.path = "/dev/dri/y";
    ContainerEdits edits = hook_with({"nvidia-cdi-hook", "chmod", "--mode", "600", "--path", "/dev/in/x"});
    edits.nodes = {node(), other};
    const auto nodes = planned(edits, char_node).nodes;
    BOOST_TEST(nodes.at(0).mode == mode_t{0600});
    BOOST_TEST(nodes.at(1).mode == mode_t{0640});
    // The directory of nodes is made for everybody.
    edits.hooks = hook_with({"nvidia-cdi-hook", "chmod", "--mode", "755", "--path", "/dev/dri"}).hooks;
    BOOST_TEST((planned(edits, char_node).nodes.at(1).mode == mode_t{0640}));
}

BOOST_AUTO_TEST_CASE(libraries_and_links_to_them_are_found_by_their_names)
{
    ElfLibrary library{.is_64 = true, .machine = 62, .soname = "liba.so.1"};
    const DirectoryFiles files{{"/lib/a", {{"liba.so.1.2", false, 1, 2, library}}}, {"/lib/b", {}}};
    const std::vector<LinkEdit> links{{"/lib/a/liba.so", "liba.so.1"},
                                      {"/lib/a/liba.so.1", "/lib/a/liba.so.1.2"},
                                      {"/lib/b/libz.so", "/elsewhere/liba.so.1.2"}};
    const auto names = [&](const std::vector<AddedLibrary> &preferred) {
        Notes notes;
        std::map<std::string, std::string> found;
        for (const AddedLibrary &each : added_libraries({"/lib/a", "/lib/b"}, files, links, preferred, notes))
            BOOST_TEST(found.emplace(each.name, each.path).second);
        return found;
    };
    const auto found = names({});
    BOOST_TEST((found == std::map<std::string, std::string>{{"liba.so", "/lib/a/liba.so"},
                                                            {"liba.so.1", "/lib/a/liba.so.1"},
                                                            {"liba.so.1.2", "/lib/a/liba.so.1.2"}}));
    const std::int32_t flags = ogh::library_flags(library).value();
    BOOST_TEST(names({{"liba.so.1", "/compat/liba.so.1", flags, 0, ""}}).at("liba.so.1") ==
               "/compat/liba.so.1");
}

BOOST_AUTO_TEST_CASE(egl_is_limited_to_the_gpus_that_are_given)
{
    Notes notes;
    std::vector<NodeEdit> nodes{
        {"/dev/nvidia3", "", 195, 3}, {"/dev/nvidiactl", "", 195, 255}, {"/dev/nvidia", "", 1, 7}};
    const auto file = plan_egl_profile(nodes, {}, {}, notes);
    BOOST_REQUIRE(file.has_value());
    BOOST_TEST(file->content.find("\"EGLVisibleDGPUDevices\", 0x8]") != std::string::npos);
    LoaderFile present;
    present.state = LoaderFile::State::Plain;
    present.content = file->content;
    BOOST_TEST((!plan_egl_profile(nodes, {}, present, notes)));
    const auto both = plan_egl_profile(nodes, {0, 3}, present, notes);
    BOOST_REQUIRE(both.has_value());
    BOOST_TEST(both->content.find(", 0x9]") != std::string::npos);
    BOOST_TEST((!plan_egl_profile({nodes.begin() + 1, nodes.end()}, {0}, {}, notes)));
    BOOST_TEST(notes.empty());
    LoaderFile closed;
    closed.why_not_replace = "it is read-only";
    BOOST_TEST((!plan_egl_profile(nodes, {}, closed, notes)));
    BOOST_TEST(notes.size() == 1U);
}

BOOST_AUTO_TEST_CASE(missing_variables_are_an_error_where_the_host_says_so)
{
    const ContainerEdits edits{.env = {"A=b", "NVIDIA_VISIBLE_DEVICES=void"}};
    const Failure failure = failure_of([&] { planned(edits, nothing, {.require_env = true}); });
    BOOST_TEST((failure.kind == ErrorKind::Denied && failure.says("'A=b'")));
    planned(edits, nothing, {.require_env = true, .environment = {"A=b"}});
}

BOOST_AUTO_TEST_CASE(a_mount_of_a_device_node_is_another_name_for_it)
{
    const auto at = [](const char *path) {
        return ContainerEdits{.mounts = {{"/dev/dri/by-path/x-card", path, "", {"ro"}}}};
    };
    const Edits edits = planned(at("/dev/dri/by-path/x-card"), char_node, {.user = {1000, 0}});
    BOOST_TEST(edits.mounts.empty());
    BOOST_TEST(
        (edits.nodes == std::vector<NodeEdit>{
                            {"/dev/dri/by-path/x-card", "/host/dev/x", 7, 9, 0640, S_IFCHR, 0, {1000, 0}}}));
    BOOST_TEST((rules_of(edits.nodes).empty()));
    BOOST_TEST((why_not(at("/opt/card"), char_node).kind == ErrorKind::Denied));
}

BOOST_AUTO_TEST_CASE(what_a_hook_cannot_do_is_one_warning)
{
    Notes notes;
    planned({.env = {"A=b", "NVIDIA_VISIBLE_DEVICES=void", "C=d", "NVIDIA_CTK_LIBCUDA_DIR=/x"},
             .groups = {0, 44}},
            nothing, {.environment = {"C=d"}}, notes);
    BOOST_REQUIRE(notes.size() == 1U);
    BOOST_TEST(notes[0].text.find("the environment 'A=b'; the groups 44;") != std::string::npos);
    notes.clear();
    planned({.env = {"C=d"}, .groups = {0}}, nothing, {.environment = {"C=d"}}, notes);
    BOOST_TEST(notes.empty());
    BOOST_TEST((why_not({.intel_rdt = true}).kind == ErrorKind::Denied));
    BOOST_TEST((why_not({.net_devices = {"eth0"}}).kind == ErrorKind::Denied));
}

BOOST_AUTO_TEST_SUITE_END()
