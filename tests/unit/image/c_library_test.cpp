// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "image/c_library.h"
#include "support/image_in_directory.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(c_library)

using namespace ogh;
using ogh::test::ImageInDirectory;
using ogh::test::TempDirectory;

namespace {

using Machines = std::vector<std::string>;

struct Image : TempDirectory {
    Image() { directory("root"); }

    [[nodiscard]] bool glibc() const { return has_glibc(ImageInDirectory(path("root")).reader()); }
    [[nodiscard]] Machines musl() const { return musl_machines(ImageInDirectory(path("root")).reader()); }

    [[nodiscard]] Machines without_cache() const
    {
        return places_without_cache(ImageInDirectory(path("root")).reader());
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(an_image_without_a_loader_has_neither, Image)
{
    BOOST_TEST(!glibc());
    BOOST_TEST(musl().empty());
    file("root/lib/libc.so.6");
    file("root/lib64/ld-linux.so");
    file("root/lib/ld-musl-x86_64.so");
    BOOST_TEST(!glibc());
    BOOST_TEST(musl().empty());
}

BOOST_FIXTURE_TEST_CASE(the_loader_tells_which_it_is, Image)
{
    file("root/lib/ld-musl-x86_64.so.1");
    file("root/lib/ld-musl-armhf.so.1");
    BOOST_TEST(!glibc());
    BOOST_TEST(musl() == (Machines{"x86_64", "armhf"}), boost::test_tools::per_element());
    file("root/lib64/ld-linux-x86-64.so.2");
    BOOST_TEST(glibc());
}

BOOST_FIXTURE_TEST_CASE(loaders_of_other_machines_count_too, Image)
{
    file("root/lib/ld-linux-aarch64.so.1");
    BOOST_TEST(glibc());
    BOOST_TEST(musl().empty());
}

BOOST_FIXTURE_TEST_CASE(links_are_followed_in_the_root, Image)
{
    file("root/usr/lib/x/ld.so");
    link("root/lib64", "/usr/lib/x");
    link("root/usr/lib/x/ld-linux-x86-64.so.2", "../../../../../../usr/lib/x/ld.so");
    BOOST_TEST(glibc());
}

BOOST_FIXTURE_TEST_CASE(what_is_no_plain_file_of_the_image_is_no_loader, Image)
{
    file("outside");
    directory("root/lib64/ld-linux-x86-64.so.2");
    directory("root/lib");
    link("root/lib/ld-linux.so.2", path("outside"));
    link("root/lib/ld-linux-armhf.so.3", "../../outside");
    link("root/lib/ld-musl-x86_64.so.1", "/nowhere");
    BOOST_TEST(!glibc());
    BOOST_TEST(musl().empty());
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_found_is_no_loader, Image)
{
    link("root/lib64", "lib64");
    file("root/lib");
    BOOST_TEST(!glibc());
    BOOST_TEST(musl().empty());
    BOOST_TEST(without_cache().empty());
}

BOOST_FIXTURE_TEST_CASE(a_loader_that_does_not_name_the_cache_reads_another_one, Image)
{
    using namespace std::string_literals;
    const Machines loader{"/lib64/ld-linux-x86-64.so.2"};
    for (const auto &[content, reads] :
         std::vector<std::pair<std::string, bool>>{{"\0/etc/ld.so.cache\0"s, true},
                                                   {"\177ELF...\0/etc/ld.so.cache\0..."s, true},
                                                   {"\0/lib/ld-musl-x86_64.so.1\0"s, true}, // gcompat's
                                                   {"%.*s/etc/ld-musl-x86_64.path\0"s, true},
                                                   {""s, false},
                                                   {"\0/etc/ld-x86_64-pc-linux-gnu.cache\0"s, false},
                                                   {"\0/opt/etc/ld.so.cache\0"s, false},
                                                   {"\0/etc/ld.so.cache.d\0"s, false}}) {
        file("root" + loader.front(), content);
        BOOST_TEST(without_cache() == (reads ? Machines() : loader), boost::test_tools::per_element());
    }
    directory("root/nix/store");
    file("root/gnu/store");
    BOOST_TEST(without_cache() == (Machines{loader.front(), "/nix/store"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
