// SPDX-License-Identifier: Apache-2.0
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "lease/state/lease_file.h"
#include "lease/waiting/lease_store.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(lease_file)

using namespace ogh;
using ogh::test::failure_of;

namespace data = boost::unit_test::data;

namespace {

LeaseFile example()
{
    const Holder plain{{17, 4711}, true, {}, "3f2a", true};
    const Holder joined{{18, 4712}, false, OwnCgroup{"", "/machine/x", 99}, "b\xff, \\"};
    LeaseFile file{{"0b5c", 4026531836, 3}, {}};
    file.state.allocations = {
        {plain, {{"a", LeaseMode::Exclusive}}, 5, 6},
        {joined, {{"b/1", LeaseMode::Shared}}, 7, 8, {{"n all", {}}, {"n any:1", {"b/1"}}}}};
    file.state.tickets = {{3, {19, 1}, plain, {{"a"}, 2, {"b", "c"}, LeaseMode::Exclusive}, 10, 11}};
    file.state.drains = {{"d", 12}};
    file.state.last_used = {{"a", 2}, {"b/1", 1}};
    file.state.uses = 2;
    file.state.numbers = 4;
    return file;
}

/** The same with all that is not always there. */
LeaseFile whole_example()
{
    LeaseFile file = example();
    LeaseState &state = file.state;
    Allocation &shares = state.allocations[1];
    shares.devices = {{"b/1", LeaseMode::Shared, {{"key:a, b", 2}, {"policy:c", 1}}, 3},
                      {"b/2", LeaseMode::Shared, {}, 1}};
    shares.limit = HoldLimit{20, 5, 37, 30};
    shares.others_cpu_ns = 3'500'000;
    shares.has_begun = true;
    shares.idle_ns = 71;
    shares.rules = {{DeviceRule::Type::Char, 195, 0}, {DeviceRule::Type::Block, 8, 1, access_mknod}};
    shares.taker = ProcessId{4711, 12};
    state.allocations[0].limit = HoldLimit{20, 5, 15};
    state.tickets[0].demand.quotas = {{"io.kubernetes.pod.namespace=ml", 4294967295}};
    state.tickets[0].demand.max_sharers = 64;
    state.tickets[0].watched = {{{17, 4711}, {18, 4712}}, {1, 2, 10}, 99};
    state.tickets[0].until = 1764000000;
    state.drains.push_back({"e", 13, 77, "Xid 79"});
    state.drains.push_back({"f", 15, 0, "", "oci-gpu-hooks check"});
    state.deprived = {shares};
    state.deprived[0].rules = DeviceRules();
    state.early_exits = {{"b/1", {7, 18446744073709551615U}}};
    state.observers = {
        {{{20, 4714}, true, OwnCgroup{"name=systemd", "/kubepods/x", 7}, "c1"}, {{"a"}, {"b"}}, 15, 16},
        {state.allocations[0].holder, {{"a"}}, 17, 18}};
    state.counts = {1, 2, 3, 4, {5, 0, 0, 0, 0, 0, 6}, {7, 8, 9}};
    return file;
}

std::string changed(const std::string &from, const std::string &to)
{
    std::string text = to_text(whole_example());
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
    {R"("version":1)", R"("version":2)", "has version 2, and this program knows version 1"},
    {R"("version":1)", R"("version":"1")", "has version \"1\", and this program knows version 1"},
    {R"("version":1,)", "", "has version null, and"},
    {"{", "oci-gpu-hooks leases 2\n", "is no valid JSON (at byte 1)"},
    {"}\n", "}", "is not as this program writes it"},
    {"}\n", "}\n\n", "is not as this program writes it"},
    {"{", "{ ", "is not as this program writes it"},
    // What comes twice, and what is not known.
    {R"("uses":2)", R"("uses":3,"uses":2)", "is not as this program writes it"},
    {R"("uses":2)", R"("uses":2,"user":3)", "is not as this program writes it"},
    {R"("uses":2)", R"("uses":2,"uzes":3)", "is not as this program writes it"},
    {R"("own_pid_namespace":true)", R"("own_pid_namespace":true,"paused":1)",
     "is not as this program writes it"},
    {R"("own_pid_namespace":true)", R"("own_pid_namespace":true,"pid":1)",
     "is not as this program writes it"},
    // What is missing, or of another type.
    {R"("numbers":4,)", "", "has no 'numbers'"},
    {R"("allocations":[)", R"("allocations":{},"allocations_":[)", "has a wrong value of 'allocations'"},
    {R"({"key":"a","mode":"exclusive"})", "3", "has a wrong value of 'devices'"},
    {R"({"key":"a","mode":"exclusive"})", "", "has a wrong value of 'allocations'"},
    {R"("mode":"exclusive")", R"("mode":"greedy")", "has a wrong value of 'mode'"},
    {R"("mode":"exclusive")", R"("mode":1)", "has a wrong value of 'mode'"},
    {R"("key":"a")", R"("key":"")", "has a wrong value of 'devices'"},
    {R"("boot":"0b5c")", R"("boot":"")", "has a wrong value of 'space'"},
    {R"("type":"char")", R"("type":"")", "has a wrong value of 'type'"},
    {R"("has_begun":true)", R"("has_begun":false)", "is not as this program writes it"},
    {R"("has_begun":true)", R"("has_begun":1)", "has a wrong value of 'has_begun'"},
    {R"("any":2)", R"("any":0)", "is not as this program writes it"},
    // Numbers.
    {R"("pid":17)", R"("pid":0)", "has a wrong value of 'init'"},
    {R"("pid":17)", R"("pid":-17)", "has a wrong value of 'pid'"},
    {R"("pid":17)", R"("pid":17.0)", "has a wrong value of 'pid'"},
    {R"("pid":17)", R"("pid":"17")", "has a wrong value of 'pid'"},
    {R"("pid":17)", R"("pid":4294967313)", "has a wrong value of 'pid'"},
    {R"("pid":17)", R"("pid":017)", "is no valid JSON"},
    {R"("since":12)", R"("since":9223372036854775808)", "has a wrong value of 'since'"},
    {R"("signal":37)", R"("signal":65)", "has a wrong value of 'limit'"},
    {R"("access":1)", R"("access":8)", "has a wrong value of 'rules'"},
    {R"("access":1)", R"("access":0)", "has a wrong value of 'rules'"},
    {R"("max_sharers":3)", R"("max_sharers":0)", "has a wrong value of 'devices'"},
    {R"("most":2)", R"("most":0)", "has a wrong value of 'quotas'"},
    {R"("most":4294967295)", R"("most":4294967296)", "has a wrong value of 'most'"},
    {R"("waits":[5,0,0,0,0,0,6])", R"("waits":[5,0,0,0,0,6])", "has a wrong value of 'waits'"},
    // Texts.
    {"3f2a", "3\\\\x00a", "is not as this program writes it"},
    {"3f2a", "3\\\\x41a", "is not as this program writes it"},
    {"3f2a", "3\\\\x+fa", "is not as this program writes it"},
    {"3f2a", "3\\\\", "is not as this program writes it"},
    {"3f2a", "3\\u0000a", "has a wrong value of 'container'"},
    {"3f2a", "3\u202ea", "is not as this program writes it"},
    {"3f2a", "3\xff", "is no valid JSON"},
    {"b\\\\xff", "b\\\\xFF", "is not as this program writes it"},
    {R"("path":"/machine/x")", R"("path":"")", "has a wrong value of 'cgroup'"},
    // What has an order.
    {R"("tickets":[1,2,10])", R"("tickets":[1,10,2])", "is not as this program writes it"},
    {R"("tickets":[1,2,10])", R"("tickets":[1,2,2])", "is not as this program writes it"},
    {"key:a, b", "policy:c", "has a wrong value of 'devices'"},
    {"key:a, b", "policy:d", "has a wrong value of 'devices'"},
    {"n all", "", "has a wrong value of 'allocations'"},
    // What cannot be.
    {R"("number":3)", R"("number":5)", "says what cannot be: a ticket has the number 5"},
    {R"("number":3)", R"("number":0)", "says what cannot be: a ticket has the number 0"},
    {R"("uses":2)", R"("uses":1)", "says what cannot be: 'a' was used after the last use"},
    {R"("pid":18,"start_time":4712)", R"("pid":17,"start_time":4711)", "the process 17 has two entries"},
    {R"("key":"b/1")", R"("key":"a/1")", "'a' is held exclusively, and by another one too"},
});

} // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again)
{
    for (const LeaseFile &file : {example(), whole_example(), LeaseFile{{"b", 1, 2}, {}}}) {
        BOOST_TEST((parse_lease_file(to_text(file)) == file), to_text(file));
        BOOST_TEST(to_text(parse_lease_file(to_text(file))) == to_text(file));
    }
    LeaseFile early = example();
    early.state.drains[0].since = -1;
    BOOST_TEST(parse_lease_file(to_text(early)).state.drains[0].since == 0);
}

BOOST_AUTO_TEST_CASE(members_are_called_as_those_of_the_types_and_what_is_usual_is_left_out)
{
    const std::string text = to_text(example());
    BOOST_TEST(nlohmann::json::parse(text) == nlohmann::json::parse(R"({
        "version": 1,
        "space": {"boot": "0b5c", "pid_namespace": 4026531836, "start_time": 3},
        "allocations": [
            {"holder": {"init": {"pid": 17, "start_time": 4711}, "own_pid_namespace": true, "container": "3f2a",
                        "idle_init": true},
             "devices": [{"key": "a", "mode": "exclusive"}], "taken_ns": 5, "since": 6},
            {"holder": {"init": {"pid": 18, "start_time": 4712}, "cgroup": {"path": "/machine/x", "inode": 99},
                        "container": "b\\xff, \\x5c"},
             "devices": [{"key": "b/1", "mode": "shared"}], "taken_ns": 7, "since": 8,
             "requests": {"n all": [], "n any:1": ["b/1"]}}],
        "tickets": [
            {"number": 3, "hook": {"pid": 19, "start_time": 1},
             "holder": {"init": {"pid": 17, "start_time": 4711}, "own_pid_namespace": true, "container": "3f2a",
                        "idle_init": true},
             "demand": {"fixed": ["a"], "any": 2, "candidates": ["b", "c"], "mode": "exclusive"},
             "deadline_ns": 10, "since": 11}],
        "drains": [{"key": "d", "since": 12}],
        "last_used": {"a": 2, "b/1": 1}, "uses": 2, "numbers": 4})"));
    BOOST_TEST(text.find('\n') == text.size() - 1);
}

BOOST_AUTO_TEST_CASE(what_people_and_containers_choose_is_printable_and_comes_back_byte_for_byte)
{
    LeaseFile file = example();
    for (const std::string &name :
         {std::string("\xff\xfe"), std::string("\x1b[2J\n"), std::string("ü \u202e"), std::string("\\xff"),
          std::string("\"\\"), std::string("\xc3")}) {
        file.state.allocations[0].holder.container = name;
        file.state.allocations[0].requests = {{name, {name}}};
        file.state.last_used = {{name, 1}};
        const std::string text = to_text(file);
        BOOST_TEST((parse_lease_file(text) == file), text);
        BOOST_TEST(printable(text.substr(0, text.size() - 1)) + "\n" == text);
    }
}

BOOST_AUTO_TEST_CASE(a_cut_text_is_refused)
{
    const std::string whole = to_text(whole_example());
    for (size_t length = 0; length < whole.size(); ++length) {
        const auto error = failure_of([&] { parse_lease_file(whole.substr(0, length)); });
        BOOST_TEST((error.kind == ErrorKind::BrokenHost), error.message);
    }
}

BOOST_DATA_TEST_CASE(what_cannot_be_is_refused, data::make(changes))
{
    const auto error = failure_of([&] { parse_lease_file(changed(sample.from, sample.to)); });
    BOOST_TEST((error.kind == ErrorKind::BrokenHost));
    BOOST_TEST(error.says(sample.words), error.message);
}

BOOST_AUTO_TEST_CASE(of_another_boot_only_the_order_of_use_is_left)
{
    const LeaseState state = state_for({"other", 4026531836, 3}, to_text(whole_example()), "rm -r X");
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
    BOOST_TEST((other.kind == ErrorKind::BrokenHost));
    // The number of the namespace is the same, the namespace is not.
    const auto later = failure_of([] { state_for({"0b5c", 4026531836, 4}, to_text(example()), "rm -r X"); });
    BOOST_TEST((later.kind == ErrorKind::BrokenHost));
    BOOST_TEST(later.says("another pid namespace"), later.message);
    BOOST_TEST(later.says("'rm -r X' clears the leases"), later.message);
}

BOOST_AUTO_TEST_CASE(names_of_people_are_read_again_and_those_that_cannot_be_are_refused)
{
    const LeasePeople people{{{1, 2}, {"na me\n", "im,age\xff", "", "key:a", "/b"}}, {{3, 4}, {}}};
    const std::string text = to_text(people);
    BOOST_TEST((parse_people(text) == people), text);
    BOOST_TEST(text ==
               R"({"people":[{"init":{"pid":1,"start_time":2},"name":"na me\\x0a","image":"im,age\\xff",)"
               R"("asker":"key:a","bundle":"/b"},{"init":{"pid":3,"start_time":4}}]})"
               "\n");
    BOOST_TEST(failure_of([] {
                   parse_people(R"({"people":[{"init":{"pid":1,"start_time":2},"age":3}]})"
                                "\n");
               }).says("is not as this program writes it"));
    for (size_t length = 0; length < text.size(); ++length)
        BOOST_TEST((failure_of([&] { parse_people(text.substr(0, length)); }).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_SUITE_END()
