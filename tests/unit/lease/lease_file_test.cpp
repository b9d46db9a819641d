// SPDX-License-Identifier: Apache-2.0
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "lease/lease_file.h"
#include "lease/lease_store.h"
#include "lease/lease_text.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(lease_file)

using namespace ogh;
using ogh::test::failure_of;

namespace data = boost::unit_test::data;

namespace {

LeaseFile example()
{
    const Holder plain{{17, 4711}, true, {}, "3f2a", "/tmp/gdn-init"};
    const Holder joined{{18, 4712}, false, OwnCgroup{"", "/machine/x", 99}, "b\xff, \\", "-"};
    LeaseFile file{{"0b5c", 4026531836, 3}, {}};
    file.state.holdings = {
        {plain, {{"a", LeaseMode::Exclusive}}, 5, 6},
        {joined, {{"b/1", LeaseMode::Shared}}, 7, 8, {{"n all", {}}, {"n any:1", {"b/1"}}}}};
    file.state.tickets = {{3, {19, 1}, plain, {{"a"}, 2, {"b", "c"}, LeaseMode::Exclusive}, 10, 11}};
    file.state.drains = {{"d", 12}};
    file.state.last_used = {{"a", 2}, {"b/1", 1}};
    file.state.uses = 2;
    file.state.numbers = 4;
    return file;
}

std::string changed(const std::string &from, const std::string &to)
{
    std::string text = to_text(example());
    const size_t where = text.find(from);
    BOOST_TEST_REQUIRE(where != std::string::npos, from);
    return text.replace(where, from.size(), to);
}

struct Change {
    const char *from, *to, *words;
};

std::ostream &operator<<(std::ostream &out, const Change &change)
{
    return out << change.to;
}
const auto changes = std::to_array<Change>({
    {"leases 1", "leases 2", "has version 2, and this program knows version 1"},
    {"leases 1", "leases 01", "has version 01, and"},
    {"oci-gpu-hooks", "oci-gpu-hook", "is none of this program's"},
    {"5 6 1 exclusive a 17 4711", "5 6 1 exclusive a 0 4711", "wrong value of 'pid' in line 5"},
    {"a 17 4711", "a -17 4711", "wrong value of 'pid'"},
    {"a 17 4711", "a 017 4711", "wrong value of 'pid'"},
    {"a 17 4711", "a 4294967313 4711", "wrong value of 'pid'"},
    {"a 17 4711", "a  17 4711", "wrong value of 'pid'"},
    {"a 17 4711", "a 17 18446744073709551616", "wrong value of 'start'"},
    {"b/1 18 4712", "b/1 17 4711", "the process 17 has two entries"},
    {"shared b/1", "shared a/1", "'a' is held exclusively, and by another one too"},
    {"1 exclusive a", "0", "wrong value of 'devices'"},
    {"1 exclusive a", "2 exclusive a", "wrong value of 'mode'"},
    {"1 exclusive a", "1 greedy a", "wrong value of 'mode'"},
    {"1 exclusive a", "1 exclusive -", "wrong value of 'key'"},
    {"request n\\x20all -", "request n\\x20any:1 -", "wrong value of 'name' in line 8"},
    {"request n\\x20all -", "request - -", "wrong value of 'name' in line 7"},
    {"request n\\x20all -", "request n\\x20all", "wrong value of 'devices'"},
    {"ticket 3", "ticket 5", "wrong value of 'number'"},
    {"ticket 3", "ticket 0", "wrong value of 'number'"},
    {"b,c", "b,", "wrong value of 'candidates'"},
    {"b,c", "b,,c", "wrong value of 'candidates'"},
    {"b,c", "b,-", "wrong value of 'candidates'"},
    {"uses 2", "uses 1", "wrong value of 'use'"},
    {"used 2 a", "used 2 c", "wrong value of 'key'"},
    {" own 0 - -", " owned 0 - -", "wrong value of 'pid namespace'"},
    {" own 0 - -", " own 1 - -", "wrong value of 'cgroup'"},
    {"drain 12", "drain 9223372036854775808", "wrong value of 'since'"},
    {"drain 12 d", "drain 12 d e", "wrong value of 'end of the line'"},
    {"drain 12 d", "drain 12 d ", "wrong value of 'end of the line'"},
    {"drain 12 d", "drain 12", "wrong value of 'key'"},
    {"drain 12 d", "drained 12 d", "cannot be understood from line 10 on"},
    {"end", "end\n", "cannot be understood"},
    {"numbers 4\n", "", "cannot be understood from line 4 on"},
    {"3f2a", "3\\x00a", "wrong value of 'container'"},
    {"3f2a", "3\\x41a", "wrong value of 'container'"},
    {"3f2a", "3\\x2d", "wrong value of 'container'"},
    {"3f2a", "3,a", "wrong value of 'container'"},
    {"\\xff", "\\xFF", "wrong value of 'container'"},
    {"\\xff", "\xff", "wrong value of 'container'"},
    {"\\xff", "\\xf", "wrong value of 'container'"},
});

} // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again)
{
    const LeaseFile read = parse_lease_file(to_text(example()));
    BOOST_TEST((read == example()));
    BOOST_TEST(to_text(read) == to_text(example()));
    BOOST_TEST((parse_lease_file(to_text({{"b", 1, 2}, {}})).state == LeaseState{}));
}

BOOST_AUTO_TEST_CASE(the_text_is_one_line_a_thing_and_what_people_chose_is_escaped)
{
    BOOST_TEST(to_text(example()) ==
               "oci-gpu-hooks leases 1\n"
               "space 0b5c 4026531836 3\n"
               "uses 2\n"
               "numbers 4\n"
               "holding 5 6 1 exclusive a 17 4711 own 0 - - 3f2a /tmp/gdn-init\n"
               "holding 7 8 1 shared b/1 18 4712 joined 99 - /machine/x "
               "b\\xff\\x2c\\x20\\x5c \\x2d\n"
               "request n\\x20all -\n"
               "request n\\x20any:1 b/1\n"
               "ticket 3 19 1 10 11 exclusive a 2 b,c 17 4711 own 0 - - 3f2a /tmp/gdn-init\n"
               "drain 12 d\n"
               "used 2 a\n"
               "used 1 b/1\n"
               "end\n");
}

BOOST_AUTO_TEST_CASE(a_cut_text_is_refused)
{
    const std::string whole = to_text(example());
    for (size_t length = 0; length < whole.size(); ++length) {
        const auto error = failure_of([&] { parse_lease_file(whole.substr(0, length)); });
        BOOST_TEST((error.code == ExitCode::Host), error.message);
    }
}

BOOST_DATA_TEST_CASE(what_cannot_be_is_refused, data::make(changes))
{
    const auto error = failure_of([&] { parse_lease_file(changed(sample.from, sample.to)); });
    BOOST_TEST((error.code == ExitCode::Host));
    BOOST_TEST(error.says(sample.words), error.message);
}

BOOST_AUTO_TEST_CASE(of_another_boot_only_the_order_of_use_is_left)
{
    const LeaseState state = state_for({"other", 4026531836, 3}, to_text(example()), "rm -r X");
    LeaseState expected;
    expected.last_used = example().state.last_used;
    expected.uses = 2;
    expected.numbers = 4;
    BOOST_TEST((state == expected));
    BOOST_TEST((state_for({}, "", "") == LeaseState{}));
}

BOOST_AUTO_TEST_CASE(another_pid_namespace_of_this_boot_is_refused)
{
    const auto other = failure_of([] { state_for({"0b5c", 4026531837, 3}, to_text(example()), ""); });
    BOOST_TEST((other.code == ExitCode::Host));
    // The number of the namespace is the same, the namespace is not.
    const auto later = failure_of([] { state_for({"0b5c", 4026531836, 4}, to_text(example()), "rm -r X"); });
    BOOST_TEST((later.code == ExitCode::Host));
    BOOST_TEST(later.says("another pid namespace"), later.message);
    BOOST_TEST(later.says("'rm -r X' clears the leases"), later.message);
}

BOOST_AUTO_TEST_SUITE_END()
