// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/driver/driver_root.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_driver_root)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::TempDirectory;

BOOST_AUTO_TEST_CASE(what_cannot_be_reached_is_not_there)
{
    const TempDirectory tree;
    tree.file("usr/lib/file", "plain");
    tree.link("usr/lib/loop", "loop");
    const Sysroot root(tree.path());
    BOOST_TEST(find_file(root, "/usr/lib/file").has_value());
    for (const std::string &path : {std::string("/usr/lib/none"), std::string("/usr/lib/file/below"),
                                    std::string("/usr/lib/loop"), "/" + std::string(300, 'x')})
        BOOST_TEST(!find_entry(root, path).has_value(), path);
}

BOOST_AUTO_TEST_CASE(a_symlink_is_followed_below_the_root_and_its_path_is_told)
{
    const TempDirectory tree;
    tree.file("opt/driver/file", "plain");
    tree.link("lib", "/opt/driver");
    const Sysroot sysroot(tree.path());
    const auto found = find_file(sysroot, "/lib/file");
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->place.path == "/opt/driver/file");
    BOOST_TEST(!find_file(sysroot, "/lib").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
