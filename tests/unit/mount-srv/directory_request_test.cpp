// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "mount-srv/plan.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(mount_srv_directory_request)

using namespace ogh;
using namespace ogh::mount_srv;
using ogh::test::failure_of;

namespace {

DirectoryRequest parse(const std::string &value)
{
    return parse_directory_request({value, "annotation 'k'"});
}

} // namespace

BOOST_AUTO_TEST_CASE(all_is_everything)
{
    BOOST_TEST((parse("all") == DirectoryRequest{true, {}, {}, false}));
    BOOST_TEST((parse(" all ") == DirectoryRequest{true, {}, {}, false}));
    BOOST_TEST((parse("all:ro") == DirectoryRequest{true, {}, {}, true}));
}

BOOST_AUTO_TEST_CASE(none_is_nothing_and_stands_alone)
{
    BOOST_TEST((parse(" none ") == DirectoryRequest{}));
    for (const char *value : {"none,a", "a,none", "none,none", "all,none", "none:ro"})
        BOOST_TEST((failure_of([&] { parse(value); }).kind == ErrorKind::Usage), value);
}

BOOST_AUTO_TEST_CASE(names_are_a_list_with_blanks_and_repeats)
{
    BOOST_TEST((parse("datasets,models") == DirectoryRequest{false, {"datasets", "models"}, {}, false}));
    BOOST_TEST((parse(" b ,a, b") == DirectoryRequest{false, {"a", "b"}, {}, false}));
    BOOST_TEST((parse("with blank") == DirectoryRequest{false, {"with blank"}, {}, false}));
}

BOOST_AUTO_TEST_CASE(read_only_wins)
{
    BOOST_TEST((parse("a_rw:ro") == DirectoryRequest{false, {"a_rw"}, {"a_rw"}, false}));
    BOOST_TEST((parse(" a_rw :ro ") == DirectoryRequest{false, {"a_rw"}, {"a_rw"}, false}));
    BOOST_TEST((parse("a_rw,a_rw:ro") == DirectoryRequest{false, {"a_rw"}, {"a_rw"}, false}));
    BOOST_TEST((parse("all,a_rw:ro") == DirectoryRequest{true, {"a_rw"}, {"a_rw"}, false}));
}

BOOST_AUTO_TEST_CASE(what_is_no_name_is_refused)
{
    for (const std::string &value :
         {std::string(","), std::string("a,"), std::string(",a"), std::string("a,,b"), std::string(".."),
          std::string("."), std::string("../etc"), std::string("/"), std::string("/etc"), std::string("a/b"),
          std::string(":ro"), std::string("a, :ro"), std::string("..:ro"), std::string("a\0b", 3)}) {
        const auto failure = failure_of([&] { parse(value); });
        BOOST_TEST((failure.kind == ErrorKind::Usage), value);
        BOOST_TEST(failure.says("annotation 'k'"), failure.message);
    }
}

BOOST_AUTO_TEST_CASE(a_name_may_hold_odd_bytes)
{
    BOOST_TEST(parse("a\nb\xff'\"").names.contains("a\nb\xff'\""));
    BOOST_TEST(parse("a:rw").names.contains("a:rw"));
    BOOST_TEST((parse("mnt[a]:b,c]:ro") == DirectoryRequest{false, {"mnt[a]:b", "c]"}, {"c]"}, false}));
}

BOOST_AUTO_TEST_SUITE_END()
