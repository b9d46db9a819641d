// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "lease/container_requests.h"
#include "lease/state/lease_changes.h"
#include "lease/state/lease_file.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(lease_bounds)

using namespace ogh;
using ogh::test::failure_of;

namespace {

Holder holder(pid_t pid)
{
    return {{pid, 1}, true, {}, "c"};
}

Ticket shared(const std::vector<LeaseKey> &keys)
{
    return {0, {1, 1}, holder(1), {keys, 0, {}, LeaseMode::Shared}, 1, 1};
}

void give(LeaseState &state, pid_t pid, const std::vector<LeaseKey> &keys)
{
    enter(state, holder(pid), shared(keys), keys, 1);
}

LeaseState with_containers(size_t count)
{
    LeaseState state;
    for (size_t i = 1; i <= count; ++i)
        state.allocations.push_back({holder(static_cast<pid_t>(i)), {{"n:0", LeaseMode::Shared}}});
    return state;
}

std::vector<LeaseKey> many_keys(size_t count)
{
    std::vector<LeaseKey> keys;
    for (size_t i = 0; i < count; ++i)
        keys.push_back("nvidia:0000:00:00.0/" + std::to_string(i));
    return keys;
}

std::string in_file(const LeaseState &state)
{
    return to_text({{"boot", 1, 1}, state});
}

} // namespace

BOOST_AUTO_TEST_CASE(a_text_is_cut_by_what_it_takes_in_the_file)
{
    const std::string plain(1000, 'x');
    const std::string odd(1000, '\xff');
    BOOST_TEST(beginning_of(plain, 255) == std::string(255, 'x'));
    BOOST_TEST(beginning_of(odd, 255) == std::string(51, '\xff'));
    BOOST_TEST(beginning_of("a\xff"
                            "b",
                            6) == "a\xff");
    BOOST_TEST(beginning_of("a\xff"
                            "b",
                            5) == "a");
    BOOST_TEST(beginning_of("\"\"\"", 4) == "\"\"");
    BOOST_TEST(beginning_of("ü", 1).empty()); // the first of its bytes would take five
    BOOST_TEST(beginning_of("ab", 4) == "ab");
    BOOST_TEST(beginning_of("", 4).empty());
    for (const std::string &text :
         {plain, odd, std::string("\\"), std::string(), std::string("a \"b\\ü\n")}) {
        LeasePeople one{{{1, 1}, {text, "", ""}}};
        LeasePeople none{{{1, 1}, {}}};
        if (!text.empty())
            BOOST_TEST(to_text(one).size() ==
                       to_text(none).size() + stored_size(text) + std::string(R"(,"name":"")").size());
    }
}

BOOST_AUTO_TEST_CASE(as_many_containers_as_there_may_be_fit_however_long_their_words_are)
{
    LeaseState state;
    for (pid_t pid = 1; pid <= 300; ++pid) {
        Holder longest = holder(pid);
        longest.container.assign(max_container_word / 5, '\xff');
        longest.cgroup = OwnCgroup{"name=systemd", std::string(max_path_word / 5, '\xff'), 1};
        enter(state, longest, shared({"n:0"}), {"n:0"}, 1);
    }
    BOOST_TEST((parse_lease_file(in_file(state)).state == state));
    // What is not the devices' takes a part of an entry alone.
    BOOST_TEST(stored_size(state.allocations.front()) < max_lease_entry / 4);
    BOOST_TEST(max_lease_containers * max_lease_entry < max_lease_file);
}

BOOST_AUTO_TEST_CASE(one_container_too_many_is_refused_with_their_number)
{
    LeaseState state = with_containers(max_lease_containers - 1);
    const std::uint64_t number = queue(state, shared({"n:0"}));
    const auto refusal = failure_of([&] { give(state, 100'000, {"n:0"}); });
    BOOST_TEST((refusal.kind == ErrorKind::BrokenHost));
    BOOST_TEST(refusal.says(std::to_string(max_lease_containers) + " containers"), refusal.message);
    BOOST_TEST((failure_of([&] { queue(state, shared({"n:0"})); }).kind == ErrorKind::BrokenHost));
    BOOST_TEST(state.numbers == number);
    give(state, 1, {"n:1"}); // has an entry
    Ticket waiting = shared({"n:0"});
    waiting.number = number;
    enter(state, holder(100'000), waiting, {"n:0"}, 1);
    BOOST_TEST(state.allocations.size() == max_lease_containers);
    remove_holder(state, {2, 1});
    give(state, 100'001, {"n:0"});
}

BOOST_AUTO_TEST_CASE(an_entry_has_a_bound_that_is_its_own_containers)
{
    LeaseState state = with_containers(1);
    const auto refusal = failure_of([&] { give(state, 2, many_keys(4000)); });
    BOOST_TEST((refusal.kind == ErrorKind::BrokenHost));
    BOOST_TEST(refusal.says("more devices than can be written down for one"), refusal.message);
    BOOST_TEST((failure_of([&] { queue(state, shared(many_keys(4000))); }).kind == ErrorKind::BrokenHost));
    const LeaseKey longest = "n:" + std::string(max_device_word, 'x');
    BOOST_TEST(failure_of([&] { give(state, 3, {longest}); }).says("has a name of more than"));
    give(state, 4, many_keys(1000));
    RemainingRequest all{{{}, 1, many_keys(2000), LeaseMode::Shared}, "n any:2000 by container"};
    BOOST_TEST((failure_of([&] {
                    note_request(state, {4, 1}, all, many_keys(2000));
                }).kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_CASE(what_was_used_longest_ago_is_forgotten)
{
    LeaseState state;
    constexpr size_t more = 10;
    for (size_t i = 0; i < max_used_devices + more; ++i) {
        give(state, 1, {"cdi:x/y=" + std::to_string(i)});
        remove_holder(state, {1, 1});
    }
    state.early_exits["cdi:x/y=" + std::to_string(more)] = {1};
    give(state, 1, {"n:0"});
    BOOST_TEST(state.early_exits.empty());
    BOOST_TEST(state.last_used.size() == max_used_devices);
    BOOST_TEST(!state.last_used.contains("cdi:x/y=" + std::to_string(more)));
    BOOST_TEST(state.last_used.contains("cdi:x/y=" + std::to_string(more + 1)));
    BOOST_TEST(parse_lease_file(in_file(state)).state.last_used.size() == max_used_devices);
}

BOOST_AUTO_TEST_CASE(what_people_call_a_container_has_a_bounded_part_of_their_file)
{
    const std::string most(size_t{1} << 16U, '\x1b');
    const LeasePeople one{{{1, 2}, within_bounds({most, most, most, most, most})}};
    BOOST_TEST(max_lease_containers * to_text(one).size() < max_people_file);
    BOOST_TEST(to_text(one).size() > 2500U);
}

BOOST_AUTO_TEST_SUITE_END()
