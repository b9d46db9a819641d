// SPDX-License-Identifier: Apache-2.0
//
// Names of any bytes and any length.
#include <array>
#include <climits>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/text.h"
#include "sandbox.h"

BOOST_AUTO_TEST_SUITE(names)

using namespace ogh;
using namespace ogh::test;
namespace data = boost::unit_test::data;

namespace {

const auto odd_names = std::to_array<const char *>({
    "a b",
    "a'b\"c",
    "a\\040b",
    "new\nline",
    "\x1b[31mred\x1b[0m",
    "tab\tand\rreturn",
    "\xff\xfe",
    "%s%n",
    "a,b",
    "x:ro",
    "a]:b",
    "mnt[x]:y,z",
    "-rf",
    "//deleted",
    "#comment",
    "\xc3\xa4\xe2\x82\xac",
});

/** A path of `length` bytes in short components. */
std::string long_path(size_t length)
{
    std::string path;
    while (path.size() + 9 <= length)
        path += "/deep-dir";
    return path + std::string(length - path.size(), 'x');
}

} // namespace

BOOST_DATA_TEST_CASE_F(Sandbox, names_of_any_bytes_are_mounted, data::make(odd_names), name)
{
    const std::string place = "/srv/" + std::string(name);
    if (place.find("//") != std::string::npos)
        return;
    start();
    for (int run = 0; run < 2; ++run) { // the second one finds the name in the mount table
        BOOST_TEST(done(commit(data_at({place}))));
        BOOST_TEST(places() == Lines{place}, boost::test_tools::per_element());
    }
}

BOOST_DATA_TEST_CASE_F(Sandbox, names_of_any_bytes_are_quoted_in_one_line, data::make(odd_names), name)
{
    const std::string place = "/srv/" + std::string(name);
    if (place.find("//") != std::string::npos)
        return;
    file("rootfs" + place, "in the way");
    start();
    BOOST_TEST(refused(commit(data_at({place})), "cannot mount on " + quote(place)));
}

BOOST_FIXTURE_TEST_CASE(sources_of_any_bytes_are_mounted, Sandbox)
{
    const std::string name = "new\nline \xff \x1b[31m";
    file("src/" + name + "/file", "odd");
    start();
    BOOST_TEST(done(commit({{{src(name), "/srv/x", Kind::Directory, true}}})));
    BOOST_TEST(places() == Lines{"/srv/x"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_name_of_255_bytes_is_mounted_and_one_of_256_refused, Sandbox)
{
    start();
    const std::string longest = "/srv/" + std::string(255, 'n');
    BOOST_TEST(done(commit(data_at({longest}))));
    BOOST_TEST(places() == Lines{longest}, boost::test_tools::per_element());
    const Lines before = image();
    BOOST_TEST(refused(commit(data_at({"/srv/" + std::string(256, 'n')})), "File name too long"));
    BOOST_TEST(refused(commit(data_at({"/new/" + std::string(256, 'n')})), "File name too long"));
    BOOST_TEST(refused(commit(data_at({"/" + std::string(256, 'n') + "/x"})), "File name too long"));
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_path_of_4095_bytes_is_mounted, Sandbox)
{
    start();
    const std::string longest = long_path(PATH_MAX - 1);
    BOOST_REQUIRE(longest.size() == 4095U);
    BOOST_TEST(done(commit(data_at({longest}))));
    BOOST_TEST(places() == Lines{longest}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_path_of_4096_bytes_is_refused, Sandbox)
{
    start();
    const Lines before = image();
    for (const size_t length : {size_t{PATH_MAX}, size_t{PATH_MAX} + 300, size_t{4} * PATH_MAX})
        BOOST_TEST(refused(commit(data_at({long_path(length)})), "File name too long"), length);
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE_F(Sandbox, paths_that_are_none_are_refused,
                       data::make({"", "/", "srv/x", "/srv/../x", "/srv/./x", "/srv//x", "/srv/x/", "/..",
                                   "/srv/x/..", "//x"}),
                       place)
{
    start();
    const Lines before = image();
    BOOST_TEST(refused(commit(data_at({place})), "the path " + quote(place), ErrorKind::Usage));
    BOOST_TEST(differences(before, image()) == Lines(), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_path_with_nul_is_refused, Sandbox)
{
    start();
    BOOST_TEST(refused(commit(data_at({std::string("/srv/x\0y", 8)})), "\\x00", ErrorKind::Usage));
}

BOOST_AUTO_TEST_SUITE_END()
