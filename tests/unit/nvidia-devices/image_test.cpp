// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/driver/library_search.h"
#include "nvidia-devices/image/image.h"
#include "support/compat_library.h"
#include "support/driver_installation.h"
#include "support/image_in_directory.h"
#include "support/temp_directory.h"
#include "support/versioned_library.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_image)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::CompatLibrary;
using ogh::test::ImageInDirectory;
using ogh::test::TempDirectory;
using ogh::test::triplet;
using ogh::test::Versioned;

namespace {

struct ImageRoot : TempDirectory {
    ImageRoot() { directory("root"); }

    [[nodiscard]] Image read(const std::vector<std::string> &environment = {})
    {
        Config config;
        config.environment = environment;
        return read_image(ImageInDirectory(path("root")).reader(), config, interpreters, notes);
    }

    /** "PATH VERSION", one after the other, of what is found before the host's. */
    [[nodiscard]] std::string own_tools(const std::vector<std::string> &environment,
                                        const Capabilities &capabilities = default_capabilities()) const
    {
        Config config;
        config.environment = environment;
        std::string text;
        for (const OwnTool &tool : find_own_tools(ImageInDirectory(path("root")).reader(), config,
                                                  capabilities, "/usr/local/nvidia"))
            text += (text.empty() ? "" : "; ") + tool.path + " " + tool.version;
        return text;
    }

    void program(const std::string &name, const std::string &content) const
    {
        file(name, content);
        std::filesystem::permissions(path(name), std::filesystem::perms{0755});
    }

    void add_compat() const
    {
        CompatLibrary library;
        library.elf.soname = "libcuda.so.1";
        file("root/usr/local/cuda/compat/libcuda.so.575.51.03", library.bytes());
    }

    std::set<std::string> interpreters;
    Notes notes;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(an_image_with_nothing_in_it_is_as_one_that_was_not_looked_at, ImageRoot)
{
    BOOST_TEST((read() == Image()));
    BOOST_TEST(notes.empty());
}

BOOST_FIXTURE_TEST_CASE(plugins_are_where_the_image_has_the_libraries_of_this_machine, ImageRoot)
{
    file("root/usr/lib/x86_64-linux-gnu", "no directory");
    file("root/usr/lib/aarch64-linux-gnu", "no directory");
    BOOST_TEST(read().library_directory == "/usr/lib64");
    std::filesystem::remove_all(path("root/usr/lib"));
    directory("root/real");
    directory("root/usr/lib");
    link("root/usr/lib/x86_64-linux-gnu", "/real");
    link("root/usr/lib/aarch64-linux-gnu", "/real");
    const Image image = read();
    BOOST_TEST(image.library_directory.ends_with("-linux-gnu"), image.library_directory);
    std::filesystem::remove(path("root" + image.library_directory));
    BOOST_TEST(read().library_directory == "/usr/lib64");
}

BOOST_FIXTURE_TEST_CASE(the_path_is_that_of_the_environment, ImageRoot)
{
    BOOST_TEST(read({"PATH=/a:/b", "XPATH=/x", "PATH=/usr/local/nvidia/bin:/usr/bin", "PATHX=/x"}).path ==
               "/usr/local/nvidia/bin:/usr/bin");
}

BOOST_FIXTURE_TEST_CASE(tools_of_its_own_are_those_that_are_found_first, ImageRoot)
{
    const std::string directory = "root/usr/lib/" + triplet;
    const std::string search = "PATH=/usr/bin:/bin";
    BOOST_TEST(own_tools({search}).empty());
    program("root/usr/bin/nvidia-smi", "of the image");
    BOOST_TEST(own_tools({search}) == "/usr/bin/nvidia-smi ");
    file(directory + "/libnvidia-ml.so.535.104.05", "a library");
    link(directory + "/libnvidia-ml.so.1", "libnvidia-ml.so.535.104.05");
    BOOST_TEST(own_tools({search}) == "/usr/bin/nvidia-smi 535.104.05");
    BOOST_TEST(own_tools({"PATH=/usr/local/nvidia/bin:/usr/bin"}).empty());
    BOOST_TEST(own_tools({"PATH=/none:relative:/usr/bin:/usr/local/nvidia/bin/"}) ==
               "/usr/bin/nvidia-smi 535.104.05");
    const std::string libraries = "LD_LIBRARY_PATH=/usr/lib/" + triplet;
    BOOST_TEST(own_tools({libraries + ":/usr/local/nvidia/lib64"}) ==
               "/usr/lib/" + triplet + "/libnvidia-ml.so.1 535.104.05");
    BOOST_TEST(
        own_tools({"LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/usr/lib/" + triplet})
            .empty());
    file(directory + "/libnvidia-ml.so.550.10.01", "a library");
    BOOST_TEST(own_tools({search}) == "/usr/bin/nvidia-smi ", "of two nobody knows which");
    std::filesystem::remove(path("root/usr/bin/nvidia-smi"));
    link("root/usr/bin/nvidia-smi",
         "/usr/local/nvidia/bin/nvidia-smi"); // as a container has it that is started again
    BOOST_TEST(own_tools({search}).empty());
}

/** What commit.cpp puts the host's in place of, and what no shell takes for a program. */
BOOST_FIXTURE_TEST_CASE(what_is_not_found_first_is_no_tool_of_its_own, ImageRoot)
{
    const std::string search = "PATH=/usr/local/bin:/usr/bin";
    file("root/usr/local/bin/nvidia-smi", "not to be executed");
    BOOST_TEST(own_tools({search}) == "");
    program("root/usr/bin/nvidia-smi", "");
    BOOST_TEST(own_tools({search}) == "");
    program("root/usr/local/bin/nvidia-smi", ""); // which stays
    BOOST_TEST(own_tools({search}) == "/usr/local/bin/nvidia-smi ");
}

BOOST_FIXTURE_TEST_CASE(a_libcuda_of_its_own_is_found_by_either_name, ImageRoot)
{
    const Capabilities compute{{Capability::Compute}, false};
    const std::string search = "LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs:/opt/lib";
    BOOST_TEST(own_tools({search}, compute) == "");
    file("root/usr/local/cuda/lib64/stubs/libcuda.so", "a stub");
    BOOST_TEST(own_tools({search}, compute) == "/usr/local/cuda/lib64/stubs/libcuda.so ");
    BOOST_TEST(own_tools({search}, {{Capability::Video}, false}) != "");
    BOOST_TEST(own_tools({search}, {{Capability::Utility}, false}) == "");
    BOOST_TEST(own_tools({"LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/usr/local/cuda/lib64/stubs"}, compute) ==
               "");
    file("root/opt/lib/libcuda.so.535.104.05", "a library");
    link("root/opt/lib/libcuda.so.1", "libcuda.so.535.104.05");
    file("root/opt/lib/libnvidia-ml.so.1", "a library");
    BOOST_TEST(own_tools({search}, compute) == "/opt/lib/libcuda.so.1 535.104.05");
    BOOST_TEST(own_tools({search}) == "/opt/lib/libnvidia-ml.so.1 ; /opt/lib/libcuda.so.1 535.104.05");
}

BOOST_FIXTURE_TEST_CASE(an_image_of_another_machine_has_its_loader_alone, ImageRoot)
{
    const auto is_foreign = [&](const char *loader) {
        file(std::string("root") + loader);
        return read().is_foreign;
    };
    BOOST_TEST(!read().is_foreign); // without any, whatever it has is linked statically
    file("root/lib/ld-musl-x86_64.so.1");
    BOOST_TEST(read().has_only_musl);
    BOOST_TEST(is_foreign("/lib64/ld64.so.2"));
    BOOST_TEST(!read().has_only_musl);
    BOOST_TEST(!read().has_loader_32);
    BOOST_TEST(is_foreign(compat32_machine().loader));
    BOOST_TEST(read().has_loader_32);
    BOOST_TEST(!is_foreign(native_machine().loader));
}

BOOST_FIXTURE_TEST_CASE(interpreters_that_the_image_lacks_count_where_it_has_a_loader, ImageRoot)
{
    const std::string store = "/nix/store/0a1b-glibc/lib/ld.so";
    interpreters = {native_machine().loader, store};
    BOOST_TEST(read().lacking_interpreters.empty());
    file(std::string("root") + native_machine().loader);
    BOOST_TEST(read().lacking_interpreters == std::set<std::string>{store}, boost::test_tools::per_element());
    file("root/nix", "no directory");
    BOOST_TEST(read().lacking_interpreters.size() == 1U);
    std::filesystem::remove(path("root/nix"));
    file("root" + store);
    BOOST_TEST(read().lacking_interpreters.empty());
}

BOOST_FIXTURE_TEST_CASE(the_version_of_glibc_is_that_of_the_first_of_its_usual_places, ImageRoot)
{
    const auto put = [&](const std::string &place, const std::string &version) {
        Versioned library;
        library.records = {{"libc.so.6"}, {version}};
        file("root/" + place + "/libc.so.6", library.defined());
        return read().glibc.value().highest.text();
    };
    BOOST_TEST(!read().glibc.has_value());
    BOOST_TEST(put("lib", "GLIBC_2.30") == "2.30");
    BOOST_TEST(put("usr/lib", "GLIBC_2.31") == "2.31");
    BOOST_TEST(put("lib64", "GLIBC_2.32") == "2.32");
    BOOST_TEST(put("usr/lib64", "GLIBC_2.33") == "2.33");
    BOOST_TEST(put("lib/" + triplet, "GLIBC_2.34") == "2.34");
    BOOST_TEST(put("usr/lib/" + triplet, "GLIBC_2.35") == "2.35");
    file("root/usr/lib/" + triplet + "/libc.so.6", "no library");
    BOOST_TEST(!read().glibc.has_value());
    BOOST_TEST(notes.empty());
}

BOOST_FIXTURE_TEST_CASE(an_image_has_only_musl_if_it_has_no_loader_of_glibcs, ImageRoot)
{
    file("root/lib/ld-musl-x86_64.so.1");
    add_compat();
    BOOST_TEST(read().has_only_musl);
    BOOST_TEST(!read().compat.has_value());
    BOOST_TEST(read({"PATH=/bin"}).path == "/bin");
    file("root/lib64/ld-linux-x86-64.so.2");
    BOOST_TEST(!read().has_only_musl);
    BOOST_TEST(read().compat.has_value());
}

BOOST_FIXTURE_TEST_CASE(what_the_image_carries_for_older_drivers_is_read, ImageRoot)
{
    add_compat();
    const Image image = read();
    BOOST_REQUIRE(image.compat.has_value());
    BOOST_TEST(image.compat->version == "575.51.03");
    BOOST_TEST(notes.empty());
}

BOOST_AUTO_TEST_SUITE_END()
