// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/image/image.h"
#include "support/compat_library.h"
#include "support/driver_installation.h"
#include "support/image_in_folder.h"
#include "support/temp_folder.h"
#include "support/versioned_library.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_image)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::CompatLibrary;
using ogh::test::ImageInFolder;
using ogh::test::TempFolder;
using ogh::test::triplet;
using ogh::test::Versioned;

namespace {

struct ImageRoot : TempFolder {
    ImageRoot() { folder("root"); }

    [[nodiscard]] Image read(const std::vector<std::string> &environment = {})
    {
        Config config;
        config.environment = environment;
        return read_image(ImageInFolder(path("root")).reader(), config, notes);
    }

    void add_compat() const
    {
        CompatLibrary library;
        library.elf.soname = "libcuda.so.1";
        file("root/usr/local/cuda/compat/libcuda.so.575.51.03", library.bytes());
    }

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
    file("root/usr/lib/x86_64-linux-gnu", "no folder");
    file("root/usr/lib/aarch64-linux-gnu", "no folder");
    BOOST_TEST(read().library_folder == "/usr/lib64");
    std::filesystem::remove_all(path("root/usr/lib"));
    folder("root/real");
    folder("root/usr/lib");
    link("root/usr/lib/x86_64-linux-gnu", "/real");
    link("root/usr/lib/aarch64-linux-gnu", "/real");
    const Image image = read();
    BOOST_TEST(image.library_folder.ends_with("-linux-gnu"), image.library_folder);
    std::filesystem::remove(path("root" + image.library_folder));
    BOOST_TEST(read().library_folder == "/usr/lib64");
}

BOOST_FIXTURE_TEST_CASE(the_path_is_that_of_the_environment, ImageRoot)
{
    BOOST_TEST(read({"PATH=/a:/b", "XPATH=/x", "PATH=/usr/local/nvidia/bin:/usr/bin", "PATHX=/x"}).path ==
               "/usr/local/nvidia/bin:/usr/bin");
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
