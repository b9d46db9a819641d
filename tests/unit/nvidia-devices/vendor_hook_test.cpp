// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>

#include "nvidia-devices/host/vendor_hook.h"
#include "support/temp_folder.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_vendor_hook)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::TempFolder;

namespace {

const std::string shared_folder = "usr/share/containers/oci/hooks.d/";
const std::string own_folder = "etc/containers/oci/hooks.d/";

std::string hook_file(const std::string &path)
{
    return R"({"version":"1.0.0","hook":{"path":")" + path + R"(","args":["x"]},"stages":["prestart"]})";
}

std::string found(const TempFolder &host, const std::vector<std::string> &paths = {})
{
    Config config;
    for (const std::string &path : paths)
        config.hooks.push_back({path});
    return find_vendor_hook(config, Sysroot(host.path())).value_or("");
}

} // namespace

BOOST_AUTO_TEST_CASE(usually_there_is_none)
{
    const TempFolder host;
    BOOST_TEST(found(host).empty());
    host.folder(shared_folder);
    host.file(own_folder + "20-nvidia-devices.json", hook_file("/usr/libexec/oci/hooks.d/nvidia-devices"));
    BOOST_TEST(found(host, {"/usr/libexec/oci/hooks.d/nvidia-devices"}).empty());
}

BOOST_AUTO_TEST_CASE(in_the_containers_config)
{
    const TempFolder host;
    for (const char *path : {"/usr/bin/nvidia-container-runtime-hook", "/x/nvidia-container-toolkit",
                             "nvidia-container-runtime-hook"})
        BOOST_TEST(found(host, {"/bin/true", path}) == "config.json ('" + std::string(path) + "')");
    for (const char *path : {"/usr/bin/nvidia-container-runtime-hook2",
                             "/usr/bin/my-nvidia-container-toolkit", "/nvidia-container-toolkit/x", "", "/"})
        BOOST_TEST(found(host, {path}).empty(), path);
}

BOOST_AUTO_TEST_CASE(in_either_folder_of_hooks)
{
    for (const std::string &folder : {shared_folder, own_folder}) {
        for (const char *path :
             {"/usr/bin/nvidia-container-runtime-hook", "/usr/bin/nvidia-container-toolkit"}) {
            const TempFolder host;
            host.file(folder + "90-other.json", hook_file("/bin/true"));
            host.file(folder + "oci-nvidia-hook.json", hook_file(path));
            BOOST_TEST(found(host) == "'" + host.path(folder + "oci-nvidia-hook.json") + "'");
        }
    }
}

BOOST_AUTO_TEST_CASE(only_the_whole_name_counts)
{
    for (const char *path :
         {"/usr/bin/nvidia-container-runtime-hook-not", "/usr/bin/not-nvidia-container-toolkit",
          "/nvidia-container-toolkit/bin/x", "/usr/bin/nvidia-container-runtime"}) {
        const TempFolder host;
        host.file(shared_folder + "a.json", hook_file(path));
        BOOST_TEST(found(host).empty(), path);
    }
    const TempFolder host;
    host.file(shared_folder + "a.json", R"(nvidia-container-toolkit")");
    BOOST_TEST(found(host).empty());
    host.file(shared_folder + "a.json", R"("/x/nvidia-container-toolkit)");
    BOOST_TEST(found(host).empty());
    host.file(shared_folder + "a.json", R"("nvidia-container-toolkit2" "nvidia-container-toolkit")");
    BOOST_TEST(!found(host).empty());
}

BOOST_AUTO_TEST_CASE(other_files_are_passed_over)
{
    const TempFolder host;
    const std::string text = hook_file("/usr/bin/nvidia-container-toolkit");
    host.file(shared_folder + "a.json.disabled", text);
    host.file(shared_folder + "a", text);
    host.folder(shared_folder + "b.json");
    host.link(shared_folder + "c.json", "a");
    BOOST_REQUIRE(::mkfifo(host.path(shared_folder + "d.json").c_str(), 0600) == 0);
    BOOST_TEST(found(host).empty());
    host.file(shared_folder + "e.json", text);
    BOOST_TEST(found(host) == "'" + host.path(shared_folder + "e.json") + "'");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_stops_no_container)
{
    const std::string text = hook_file("/usr/bin/nvidia-container-toolkit");
    const TempFolder host;
    host.file("usr/share/containers/oci/hooks.d", "no folder");
    host.file(own_folder + "a.json", std::string(70000, ' '));
    BOOST_TEST(found(host).empty());
    host.file(own_folder + "b.json", text);
    BOOST_TEST(found(host) == "'" + host.path(own_folder + "b.json") + "'");
    for (int i = 0; i < 300; ++i)
        host.file(own_folder + "many-" + std::to_string(i) + ".json");
    BOOST_TEST(found(host).empty());
}

BOOST_AUTO_TEST_SUITE_END()
