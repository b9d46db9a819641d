// SPDX-License-Identifier: Apache-2.0
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "lease/lease_file.h"
#include "lease/lease_store.h"
#include "support/expect.h"

using namespace ogh;
using ogh::test::failure_of;

namespace data = boost::unit_test::data;

namespace {

LeaseFile example()
{
    const Holder plain{{17, 4711, 4026531836}, true, {}, "3f2a", "/tmp/gdn-init"};
    const Holder joined{{18, 4712, 4026531836}, false, OwnCgroup{"", "/machine/x", 99}, "b\xff", "sh"};
    LeaseFile file{{"0b5c", 4026531836, 3}, {}};
    file.state.holdings = {{plain, {{"a", LeaseMode::Exclusive}}, 5, 6},
                           {joined, {{"b/1", LeaseMode::Shared}}, 7, 8}};
    file.state.tickets = {{3, {19, 1, 2}, plain, {{"a"}, 2, {"b", "c"}, LeaseMode::Exclusive}, 10, 11}};
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
    {"\"version\":1", "\"version\":2", "has version 2, and this program knows version 1"},
    {"\"version\":1", "\"version\":\"1\"", "wrong value of 'version'"},
    {"\"version\":1", "\"versions\":1", "lacks 'version'"},
    {"\"pid\":17", "\"pid\":0", "wrong value of 'pid'"},
    {"\"pid\":17", "\"pid\":-17", "wrong value of 'pid'"},
    {"\"pid\":17", "\"pid\":4294967313", "wrong value of 'pid'"},
    {"\"pid\":18,\"pid_namespace\":4026531836,\"start\":4712",
     "\"pid\":17,\"pid_namespace\":4026531836,\"start\":4711", "the process 17 has two entries"},
    {"\"b/1\",\"mode\"", "\"a/1\",\"mode\"", "'a' is held exclusively, and by another one too"},
    {"\"exclusive\"", "\"greedy\"", "wrong value of 'mode'"},
    {"\"number\":3", "\"number\":5", "wrong value of 'number'"},
    {"\"uses\":2", "\"uses\":1", "wrong value of 'last_used'"},
    {"\"own_pid_namespace\":true", "\"own_pid_namespace\":1", "wrong value of 'own_pid_namespace'"},
    {"\"tickets\":[", "\"tickets\":[[],", "lacks"},
    {"\"since\":12", "\"since\":18446744073709551615", "wrong value of 'since'"},
    {"\"3f2a\"", "\"3\\u0000a\"", "NUL"},
});

} // namespace

BOOST_AUTO_TEST_SUITE(lease_file)

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again)
{
    const LeaseFile read = parse_lease_file(to_text(example()));
    LeaseFile expected = example();
    expected.state.holdings[1].holder.container = "b\\xff";
    BOOST_TEST((read == expected));
    BOOST_TEST(to_text(read) == to_text(example()));
    BOOST_TEST((parse_lease_file(to_text({})).state == LeaseState{}));
}

BOOST_AUTO_TEST_CASE(a_cut_text_is_refused)
{
    const std::string whole = to_text(example());
    for (size_t length = 0; length + 2 < whole.size(); length += 7) {
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

BOOST_AUTO_TEST_CASE(a_file_that_is_too_large_is_refused)
{
    const auto error = failure_of([] { parse_lease_file(std::string(max_lease_file + 1, ' ')); });
    BOOST_TEST((error.code == ExitCode::Host));
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
