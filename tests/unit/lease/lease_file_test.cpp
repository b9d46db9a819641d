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

/** The same as an earlier version of the program has it, which waits. */
LeaseFile first_example()
{
    LeaseFile file = example();
    file.state.tickets.front().is_of_version_1 = true;
    return file;
}

/** The same with quotas and limits to sharing. */
LeaseFile limited_example()
{
    LeaseFile file = example();
    Allocation &shares = file.state.allocations[1];
    shares.devices = {{"b/1", LeaseMode::Shared, " used-at=8", {{"key:a, b", 2}, {"policy:c", 1}}, 3},
                      {"b/2", LeaseMode::Shared, "", {}, 1}};
    shares.limit = HoldLimit{20, 5, 37, 30};
    shares.others_cpu_ns = 3'500'000;
    shares.has_begun = true;
    shares.idle_ns = 71;
    shares.rules = {{DeviceRule::Type::Char, 195, 0}, {DeviceRule::Type::Block, 8, 1, access_mknod}};
    shares.taker = ProcessId{4711, 12};
    shares.unknown.fields = " until=9";
    file.state.allocations[0].limit = HoldLimit{20, 5, 15};
    file.state.tickets[0].demand.quotas = {{"io.kubernetes.pod.namespace=ml", 4294967295}};
    file.state.tickets[0].demand.max_sharers = 64;
    file.state.tickets[0].watched = {{{17, 4711}, {18, 4712}}, {1, 2, 10}, 99};
    file.state.tickets[0].until = 1764000000;
    file.state.tickets[0].unknown.fields = " signals=yes";
    file.state.drains.push_back({"e", 13, {" a=1", ""}, 77, "Xid 79"});
    file.state.drains.push_back({"f", 14, {}, 0, "dust"});
    file.state.drains.push_back({"f", 15, {}, 0, "", "oci-gpu-hooks check"});
    file.state.deprived = {shares};
    file.state.deprived[0].rules = DeviceRules();
    file.state.quick_ends = {{"b/1", {7, 18446744073709551615U}}};
    file.state.unknown_of_uses = {{"b/1", " by=3f2a"}};
    return file;
}

/** The same with what a later version has added. */
LeaseFile later_example()
{
    LeaseFile file = example();
    file.state.unknown = {" quotas=3",
                          "quota name=team-a most=2\n by since=5\nreason key=d text=fan\\x20broken\n"};
    file.state.allocations[0].unknown = {" until=9", ""};
    file.state.allocations[0].devices[0].unknown = " used-at=8";
    file.state.allocations[1].unknown = {"", " evidence of=b/1 seen=7\n"};
    file.state.allocations[1].unknown_of_requests = {{"n any:1", " least=1"}};
    file.state.tickets[0].unknown = {" signals=yes", " reason text=x\n"};
    file.state.drains[0].unknown = {" ends=99", " why text=y\n"};
    file.state.unknown_of_uses = {{"b/1", " by=3f2a"}};
    return file;
}

std::string changed(const LeaseFile &file, const std::string &from, const std::string &to)
{
    std::string text = to_text(file);
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
const auto changes_of_1 = std::to_array<Change>({
    {"leases 1", "leases 3", "has version 3, and this program knows version 2"},
    {"leases 1", "leases 2", "wrong value of 'boot'"},
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
    {" own 0 - -", " owned 0 - -", "wrong value of 'pid-namespace'"},
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

const auto changes_of_2 = std::to_array<Change>({
    {"leases 2", "leases 1", "wrong value of 'pid-namespace'"},
    {"leases 2", "leases 3", "has version 3, and this program knows version 2"},
    {"boot=", "booted=", "wrong value of 'boot'"},
    {"boot=0b5c", "boot=", "wrong value of 'boot'"},
    {" start=3\n", " start=3 more=1\n", "wrong value of 'end of the line' in line 2"},
    {"counters", "uses", "cannot be understood from line 3 on"},
    {"uses=2 numbers=4", "numbers=4 uses=2", "wrong value of 'uses'"},
    {"taken=5 since=6", "since=6 taken=5", "wrong value of 'taken'"},
    {"taken=5 since=6", "taken=5  since=6", "wrong value of 'since'"},
    {" device mode=exclusive key=a until=1\n", "", "wrong value of 'devices'"},
    {" device mode=exclusive", "device mode=exclusive", "wrong value of 'devices'"},
    {"key=a until=1\n", "key=a\n device mode=shared key=e\n more\n", "cannot be understood from line 7 on"},
    {"until=1", "until=", "wrong value of 'a field' in line 5"},
    {"until=1", "until", "wrong value of 'a field'"},
    {"until=1", "=1", "wrong value of 'a field'"},
    {"until=1", "Until=1", "wrong value of 'a field'"},
    {"until=1", "until=1 ", "wrong value of 'a field'"},
    {"until=1", "until=1  at=2", "wrong value of 'a field'"},
    {"until=1", "until=1 until=2", "wrong value of 'a field'"},
    {"until=1", "key=b", "wrong value of 'a field'"},
    {"until=1", "until=\xff", "wrong value of 'a field'"},
    {"until=1", "until=1\t", "wrong value of 'a field'"},
    {" device mode=shared key=b/1\n request name=n\\x20all devices=-\n",
     " request name=n\\x20all devices=-\n device mode=shared key=b/1\n", "wrong value of 'devices'"},
    {" request name=n\\x20any:1 devices=b/1\n", " by a=1\n request name=n\\x20any:1 devices=b/1\n",
     "cannot be understood from line 10 on"},
    {"used use=1", "quota a=1\nused use=1", "cannot be understood from line 14 on"},
    {"end\n", " by a=1\nend\n", "cannot be understood from line 14 on"},
    {"end\n", "quota \nend\n", "wrong value of 'a field' in line 14"},
    {"end\n", "quota\nend\n", "cannot be understood from line 14 on"},
    {"end\n", "quota a\nend\n", "wrong value of 'a field' in line 14"},
    {"end\n", "Quota a=1\nend\n", "cannot be understood"},
    {"end\n", "quota a=1\n", "cannot be understood"},
    {"end\n", "quota a=1\n\nend\n", "cannot be understood"},
    {"end\n", "quota a=1\nend\n\n", "cannot be understood"},
});

const auto changes_of_limits = std::to_array<Change>({
    {"quotas=2:key", "quotas=0:key", "wrong value of 'quotas' in line 7"},
    {"quotas=2:key", "quotas=02:key", "wrong value of 'quotas'"},
    {"quotas=2:key", "quotas=-2:key", "wrong value of 'quotas'"},
    {"quotas=2:key", "quotas=4294967296:key", "wrong value of 'quotas'"},
    {"quotas=2:key", "quotas=key", "wrong value of 'quotas'"},
    {"quotas=2:key:a\\x2c\\x20b,", "quotas=2:,", "wrong value of 'quotas'"},
    {"quotas=2:key:a\\x2c\\x20b,", "quotas=2,", "wrong value of 'quotas'"},
    {"quotas=2:key:a\\x2c\\x20b,", "quotas=2:policy:c,", "wrong value of 'quotas'"},
    {"quotas=2:key:a\\x2c\\x20b,", "quotas=2:policy:d,", "wrong value of 'quotas'"},
    {"quotas=2:key:a\\x2c\\x20b,1:policy:c", "quotas=-", "wrong value of 'quotas'"},
    {"stop-signal=37", "stop-signal=65", "wrong value of 'stop-signal'"},
    {"hold-until=20 hold-grace=5 stop-signal=37", "hold-until=20 stop-signal=37",
     "wrong value of 'hold-grace'"},
    {"stop-sent=30 others-cpu=3500000", "others-cpu=3500000 stop-sent=30 others-cpu=1",
     "wrong value of 'a field'"},
    {"max-sharers=3", "max-sharers=0", "wrong value of 'max-sharers'"},
    {"max-sharers=3", "max-sharers=4294967296", "wrong value of 'max-sharers'"},
    {"max-sharers=3 used-at=8", "used-at=8 max-sharers=3 quotas=3:x used-at=8", "wrong value of 'a field'"},
    {"watches=1,", "watches=01,", "wrong value of 'watches'"},
    {"watches=1,", "watches=,", "wrong value of 'watches'"},
    {"watches=1,2", "watches=2,1", "wrong value of 'watches'"},
    {"watches=1,2", "watches=1,1,2", "wrong value of 'watches'"},
    {"17:4711,18:4712", "18:4712,17:4711", "wrong value of 'watches'"},
    {"17:4711,", "17:,", "wrong value of 'watches'"},
    {"17:4711,", "0:4711,", "wrong value of 'watches'"},
    {"17:4711,", "4294967296:4711,", "wrong value of 'watches'"},
    {",:99", ",:099", "wrong value of 'watches'"},
    {",:99", ",:98,:99", "wrong value of 'watches'"},
    {",:99", ",:0", "wrong value of 'watches'"},
    {"quick-ends=7,", "quick-ends=07,", "wrong value of 'quick-ends'"},
    {"quick-ends=7,", "quick-ends=x,", "wrong value of 'quick-ends'"},
    {"quick-ends=7,18446744073709551615", "quick-ends=-", "wrong value of 'quick-ends'"},
    {"quick-ends=7,18446744073709551615", "quick-ends=18446744073709551616", "wrong value of 'quick-ends'"},
    {"quotas=4294967295:io", "max-sharers=64 quotas=1:io", "wrong value of 'a field'"},
});

/** The same with containers that see devices without a lease. */
LeaseFile observed_example()
{
    LeaseFile file = limited_example();
    const Holder plugin{{20, 4714}, true, OwnCgroup{"", "/kubepods/x", 7}, "c1", "/plugin"};
    file.state.observers = {{plugin, {{"a"}, {"b"}}, 15, 16},
                            {file.state.allocations[0].holder, {{"a"}}, 17, 18}};
    file.state.observers[0].unknown.fields = " by=x";
    return file;
}

/** The text in which changes_of_2 are made. */
LeaseFile with_a_field()
{
    LeaseFile file = example();
    file.state.allocations[0].devices[0].unknown = " until=1";
    return file;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again)
{
    for (const LeaseFile &file : {first_example(), later_example(), limited_example(), observed_example()}) {
        BOOST_TEST((parse_lease_file(to_text(file)) == file), to_text(file));
        BOOST_TEST(to_text(parse_lease_file(to_text(file))) == to_text(file));
    }
    const LeaseFile read = parse_lease_file(to_text(example()));
    BOOST_TEST((read == example()));
    BOOST_TEST(to_text(read) == to_text(example()));
    BOOST_TEST((parse_lease_file(to_text({{"b", 1, 2}, {}})).state == LeaseState{}));
}

BOOST_AUTO_TEST_CASE(the_text_is_one_line_a_thing_and_what_people_chose_is_escaped)
{
    BOOST_TEST(to_text(example()) ==
               "oci-gpu-hooks leases 2\n"
               "space boot=0b5c pid-namespace=4026531836 start=3\n"
               "counters uses=2 numbers=4\n"
               "holding taken=5 since=6 pid=17 start=4711 pid-namespace=own inode=0 controller=- cgroup=- "
               "container=3f2a program=/tmp/gdn-init\n"
               " device mode=exclusive key=a\n"
               "holding taken=7 since=8 pid=18 start=4712 pid-namespace=joined inode=99 controller=- "
               "cgroup=/machine/x container=b\\xff\\x2c\\x20\\x5c program=\\x2d\n"
               " device mode=shared key=b/1\n"
               " request name=n\\x20all devices=-\n"
               " request name=n\\x20any:1 devices=b/1\n"
               "ticket number=3 hook=19 hook-start=1 deadline=10 since=11 mode=exclusive fixed=a any=2 "
               "candidates=b,c pid=17 start=4711 pid-namespace=own inode=0 controller=- cgroup=- "
               "container=3f2a program=/tmp/gdn-init\n"
               "drain since=12 key=d\n"
               "used use=2 key=a\n"
               "used use=1 key=b/1\n"
               "end\n");
}

BOOST_AUTO_TEST_CASE(quotas_and_limits_stand_behind_what_there_was_in_version_2_before)
{
    const std::string text = to_text(limited_example());
    for (const char *const words :
         {" device mode=exclusive key=a\n",
          " device mode=shared key=b/1 quotas=2:key:a\\x2c\\x20b,1:policy:c max-sharers=3 used-at=8\n"
          " device mode=shared key=b/2 max-sharers=1\n",
          " program=/tmp/gdn-init quotas=4294967295:io.kubernetes.pod.namespace=ml max-sharers=64 "
          "watches=1,2,10,17:4711,18:4712,:99 until=1764000000 signals=yes\n",
          " begun=yes idle-since=71 rules=c:195:0:rw,b:8:1:m taker=4711 taker-start=12 until=9\n",
          "used use=1 key=b/1 quick-ends=7,18446744073709551615 by=3f2a\n"})
        BOOST_TEST(text.find(words) != std::string::npos, words);
}

BOOST_AUTO_TEST_CASE(observers_stand_where_earlier_versions_keep_what_they_do_not_know)
{
    LeaseFile file = observed_example();
    file.state.deprived.clear(); // they come behind
    const std::string text = to_text(file);
    BOOST_TEST(text.ends_with("key=b/1 quick-ends=7,18446744073709551615 by=3f2a\n"
                              "observer taken=15 since=16 pid=20 start=4714 pid-namespace=own inode=7 "
                              "controller=- cgroup=/kubepods/x container=c1 program=/plugin by=x\n"
                              " device mode=shared key=a\n"
                              " device mode=shared key=b\n"
                              "observer taken=17 since=18 pid=17 start=4711 pid-namespace=own inode=0 "
                              "controller=- cgroup=- container=3f2a program=/tmp/gdn-init\n"
                              " device mode=shared key=a\n"
                              "end\n"));
    file.state.observers[1] = file.state.observers[0];
    BOOST_TEST(failure_of([&] { parse_lease_file(to_text(file)); }).says("two entries"));
}

BOOST_AUTO_TEST_CASE(version_1_is_written_as_earlier_versions_of_the_program_do)
{
    BOOST_TEST(to_text(first_example()) ==
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

BOOST_AUTO_TEST_CASE(what_a_later_version_has_added_is_kept)
{
    const std::string text = to_text(later_example());
    for (const char *const words :
         {"counters uses=2 numbers=4 quotas=3\n", "program=/tmp/gdn-init until=9\n device",
          " device mode=exclusive key=a used-at=8\n", "devices=b/1 least=1\n evidence of=b/1 seen=7\nticket",
          " signals=yes\n reason text=x\n", "key=d ends=99\n why text=y\n",
          "key=b/1 by=3f2a\nquota name=team-a",
          "most=2\n by since=5\nreason key=d text=fan\\x20broken\nend\n"})
        BOOST_TEST(text.find(words) != std::string::npos, words);
    LeaseState state = parse_lease_file(text).state;
    state.allocations.erase(state.allocations.begin() + 1);
    state.tickets.clear();
    const std::string without = to_text({example().space, state});
    BOOST_TEST(without.find("evidence") == std::string::npos); // goes with what it belongs to
    BOOST_TEST(without.find("signals") == std::string::npos);
    BOOST_TEST(without.find("quota name=team-a most=2\n by since=5\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_file_stays_version_1_as_long_as_who_reads_no_other_waits)
{
    LeaseFile file = parse_lease_file(to_text(first_example()));
    BOOST_TEST(file.state.tickets.front().is_of_version_1);
    Ticket later = file.state.tickets.front();
    later.number = 4;
    later.is_of_version_1 = false;
    file.state.tickets.push_back(later);
    const std::string both = to_text(file);
    BOOST_TEST(both.starts_with("oci-gpu-hooks leases 1\n"));
    file = parse_lease_file(both);
    BOOST_TEST(file.state.tickets.front().is_of_version_1);
    BOOST_TEST(!file.state.tickets.back().is_of_version_1);
    file.state.tickets.erase(file.state.tickets.begin());
    BOOST_TEST(to_text(file).starts_with("oci-gpu-hooks leases 2\n"));
    BOOST_TEST((parse_lease_file(to_text(file)) == file));
}

BOOST_AUTO_TEST_CASE(what_version_1_cannot_say_is_refused_in_words)
{
    const auto refused = [](const auto &change) {
        LeaseFile file = first_example();
        change(file.state);
        const auto error = failure_of([&] { to_text(file); });
        BOOST_TEST((error.kind == ErrorKind::BrokenHost));
        BOOST_TEST(error.says("stays version 1 as long as a hook of an earlier version waits"),
                   error.message);
    };
    refused([](LeaseState &state) { state.unknown.fields = " a=1"; });
    refused([](LeaseState &state) { state.unknown.lines = "a b=1\n"; });
    refused([](LeaseState &state) { state.allocations[0].unknown.fields = " a=1"; });
    refused([](LeaseState &state) { state.allocations[0].unknown.lines = " a b=1\n"; });
    refused([](LeaseState &state) { state.allocations[0].devices[0].unknown = " a=1"; });
    refused([](LeaseState &state) { state.allocations[1].unknown_of_requests = {{"n all", " a=1"}}; });
    refused([](LeaseState &state) { state.tickets[0].unknown.fields = " a=1"; });
    refused([](LeaseState &state) { state.drains[0].unknown.lines = " a b=1\n"; });
    refused([](LeaseState &state) { state.unknown_of_uses = {{"a", " a=1"}}; });
    refused([](LeaseState &state) { state.allocations[0].devices[0].quotas = {{"key:a", 1}}; });
    refused([](LeaseState &state) { state.allocations[0].devices[0].max_sharers = 2; });
    refused([](LeaseState &state) { state.allocations[0].limit = HoldLimit{1, 1, 15}; });
    refused([](LeaseState &state) { state.tickets[0].demand.quotas = {{"key:a", 1}}; });
    refused([](LeaseState &state) { state.tickets[0].demand.max_sharers = 2; });
    refused([](LeaseState &state) { state.drains[0].until_ns = 1; });
    refused([](LeaseState &state) { state.drains[0].reason = "dust"; });
    refused([](LeaseState &state) { state.drains[0].by = "x"; });
    refused([](LeaseState &state) { state.observers = {state.allocations[0]}; });
}

BOOST_AUTO_TEST_CASE(a_cut_text_is_refused)
{
    for (const std::string &whole :
         {to_text(first_example()), to_text(later_example()), to_text(limited_example())}) {
        for (size_t length = 0; length < whole.size(); ++length) {
            const auto error = failure_of([&] { parse_lease_file(whole.substr(0, length)); });
            BOOST_TEST((error.kind == ErrorKind::BrokenHost), error.message);
        }
    }
}

BOOST_DATA_TEST_CASE(what_cannot_be_is_refused, data::make(changes_of_1))
{
    const auto error =
        failure_of([&] { parse_lease_file(changed(first_example(), sample.from, sample.to)); });
    BOOST_TEST((error.kind == ErrorKind::BrokenHost));
    BOOST_TEST(error.says(sample.words), error.message);
}

BOOST_DATA_TEST_CASE(what_cannot_be_in_version_2_is_refused, data::make(changes_of_2))
{
    const auto error = failure_of([&] { parse_lease_file(changed(with_a_field(), sample.from, sample.to)); });
    BOOST_TEST((error.kind == ErrorKind::BrokenHost));
    BOOST_TEST(error.says(sample.words), error.message);
}

BOOST_DATA_TEST_CASE(limits_that_cannot_be_are_refused, data::make(changes_of_limits))
{
    const auto error =
        failure_of([&] { parse_lease_file(changed(limited_example(), sample.from, sample.to)); });
    BOOST_TEST((error.kind == ErrorKind::BrokenHost));
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
    BOOST_TEST((other.kind == ErrorKind::BrokenHost));
    // The number of the namespace is the same, the namespace is not.
    const auto later = failure_of([] { state_for({"0b5c", 4026531836, 4}, to_text(example()), "rm -r X"); });
    BOOST_TEST((later.kind == ErrorKind::BrokenHost));
    BOOST_TEST(later.says("another pid namespace"), later.message);
    BOOST_TEST(later.says("'rm -r X' clears the leases"), later.message);
}

BOOST_AUTO_TEST_SUITE_END()
