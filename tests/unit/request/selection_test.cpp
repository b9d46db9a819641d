// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "request/availability.h"
#include "request/selection.h"
#include "support/selection_case.h"

BOOST_AUTO_TEST_SUITE(selection)

using namespace ogh;
using namespace ogh::test;

BOOST_AUTO_TEST_CASE(all_is_everything_and_none_is_nothing)
{
    BOOST_TEST(Case().choose("all") == "0 1 2 3");
    BOOST_TEST(Case().choose("none").empty());
    BOOST_TEST(of({}).choose("none").empty());
}

BOOST_AUTO_TEST_CASE(what_is_chosen_is_in_pci_order_and_once)
{
    BOOST_TEST(Case().choose("3,0") == "0 3");
    BOOST_TEST(Case().choose("1-2,2,card3,0000:5e:00.0") == "1 2");
    BOOST_TEST(Case().choose("2,all") == "0 1 2 3");
}

BOOST_AUTO_TEST_CASE(names_and_addresses_in_either_case)
{
    BOOST_TEST(Case().choose("gpu-2A") == "2");
    BOOST_TEST(Case().choose("CARD1") == "0");
    BOOST_TEST(Case().choose("C2:00.0") == "3");
    BOOST_TEST(Case().choose("00000000:0D:00.0") == "0");
}

BOOST_AUTO_TEST_CASE(an_index_is_not_a_place)
{
    auto list = four();
    list[0].index.reset();
    list[0].problem = "it is excluded";
    list[1].index = 0;
    list[2].index = 1;
    list[3].index = 2;
    BOOST_TEST(of(list).choose("0-1") == "1 2");
}

BOOST_AUTO_TEST_CASE(whatever_bears_a_name_belongs_to_it)
{
    auto list = four();
    list[1].names = list[2].names = {"0x12"};
    list[3].address = list[0].address;
    BOOST_TEST(of(list).choose("0x12") == "1 2");
    BOOST_TEST(of(list).choose("0d:00.0") == "0 3");
}

BOOST_AUTO_TEST_CASE(what_is_unknown_is_an_error_that_lists_what_there_is)
{
    for (const char *value :
         {"7", "GPU-7a", "GPU-", "GPU-0", "GPU-0aa", "0000:5e:00.1", "0001:5e:00.0", "card", "0:1"}) {
        const auto failure = Case().refuse(value);
        BOOST_TEST((failure.kind == ErrorKind::NotAvailable), value);
        BOOST_TEST(failure.message == "no GPU '" + std::string(value) + "': this host has " + all_four);
    }
    BOOST_TEST((Case().refuse("0,7").kind == ErrorKind::NotAvailable));
}

BOOST_AUTO_TEST_CASE(a_range_must_be_there_in_whole)
{
    BOOST_TEST(Case().refuse("2-999999999").message ==
               "no GPU '4' of '2-999999999': this host has " + std::string(all_four));
}

BOOST_AUTO_TEST_CASE(a_host_without_a_gpu)
{
    for (const char *value : {"all", "0", "any:1"}) {
        const auto failure = of({}).refuse(value);
        BOOST_TEST((failure.kind == ErrorKind::NotAvailable), value);
        BOOST_TEST(failure.message == "no GPU '" + std::string(value) + "': this host has none");
    }
}

BOOST_AUTO_TEST_CASE(a_gpu_with_a_problem_is_left_out_of_all_and_any_and_named)
{
    for (const char *value : {"all", "any:2"}) {
        Case host = of(two_sound());
        BOOST_TEST(host.choose(value).ends_with("0 1"), value);
        BOOST_REQUIRE(host.notes.size() == 2U);
        BOOST_TEST((host.notes[0].level == LogLevel::Warning));
        BOOST_TEST(host.notes[0].text == "GPU 2 (GPU-2a) is left out: it does not answer");
        BOOST_TEST((host.notes[1].level == LogLevel::Info));
        BOOST_TEST(host.notes[1].text == "GPU GPU-3a is left out: it is excluded");
    }
    BOOST_TEST((of(two_sound()).refuse("any:3").kind == ErrorKind::NotAvailable));
}

BOOST_AUTO_TEST_CASE(a_gpu_with_a_problem_is_an_error_by_name)
{
    for (const char *value : {"2", "1-2", "GPU-2a", "5e:00.0", "all,2"}) {
        const auto failure = of(two_sound()).refuse(value);
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost), value);
        BOOST_TEST(failure.says(": it does not answer"), failure.message);
    }
    const auto failure = of(two_sound()).refuse("GPU-3a");
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.message == "no GPU 'GPU-3a': it is excluded");
}

BOOST_AUTO_TEST_CASE(the_list_tells_what_has_a_problem)
{
    BOOST_TEST(of(two_sound()).refuse("7").message == "no GPU '7': this host has 0 (GPU-0a), 1 (GPU-1a); "
                                                      "left out: 2 (GPU-2a), it does not answer, GPU-3a, it "
                                                      "is excluded");
    auto list = two_sound();
    list.erase(list.begin(), list.begin() + 2);
    const auto failure = of(list).refuse("all");
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.says("no GPU 'all': this host has none; left out: "), failure.message);
}

BOOST_AUTO_TEST_CASE(more_than_there_are_is_said_in_numbers)
{
    BOOST_TEST(
        of(two_sound())
            .refuse("any:9")
            .message.starts_with(
                "9 GPUs are asked for, and there are 2: this host has 0 (GPU-0a), 1 (GPU-1a); left out: "));
    BOOST_TEST(of(four()).refuse("0,any:4").message.starts_with(
        "4 GPUs are asked for besides those that are named, and there are 3: this host has 0 "));
    BOOST_TEST(of(four()).refuse("any:gfx1100:9").says("9 GPUs are asked for of 'gfx1100', and there "));
}

BOOST_AUTO_TEST_CASE(what_looks_dead_is_passed_by_with_a_warning_and_an_error_by_name)
{
    auto list = four();
    mark_dead(list[1]);
    for (const char *value : {"any:3", "all", "any:gfx1100:3"}) {
        Case host = of(list);
        BOOST_TEST(host.choose(value).ends_with("0 2 3"), value);
        BOOST_REQUIRE(host.notes.size() == 1U);
        BOOST_TEST((host.notes[0].level == LogLevel::Warning));
        BOOST_TEST(host.notes[0].text == "GPU 1 (GPU-1a) is left out: looks dead: nothing answers at "
                                         "0000:1b:00.0 on the PCI bus");
    }
    for (const char *value : {"1", "0-2", "GPU-1a", "any:2,card2"}) {
        const auto failure = of(list).refuse(value);
        BOOST_TEST((failure.kind == ErrorKind::NotAvailable), value);
        BOOST_TEST(failure.message.starts_with("the GPU 1 (GPU-1a) that is asked for looks dead: "),
                   failure.message);
    }
    const auto failure = of(list).refuse("any:4");
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.says("left out: 1 (GPU-1a), looks dead"), failure.message);
}

BOOST_AUTO_TEST_CASE(what_has_another_problem_does_not_look_dead)
{
    auto list = two_sound();
    mark_dead(list[3]);
    BOOST_TEST(!list[3].looks_dead);
    BOOST_TEST(list[3].problem == "it is excluded");
}

BOOST_AUTO_TEST_CASE(what_is_not_any_s_is_passed_by_without_a_word)
{
    auto list = four();
    list[0].only_by_name = "it is integrated";
    mark_dead(list[0]);
    Case host = Case::allowing("0-2");
    mark_dead(list[3]);
    host.candidates = list;
    BOOST_TEST(host.choose("any:1") == "any:1 of 1 2");
    BOOST_TEST(host.notes.empty());
}

BOOST_AUTO_TEST_CASE(only_where_it_may_choose_is_looked)
{
    auto list = four();
    list[2].only_by_name = "it is integrated";
    list[2].groups = {"igpu"};
    list[3].problem = "it is excluded";
    const auto places = [&](const char *value, const char *allowed = "all") {
        SelectionPolicy policy;
        policy.allow = parse_allowed_selectors({allowed, "option '--allow'"});
        std::string text;
        for (const PciAddress &address :
             addresses_meant(parse_selectors({value, "annotation 'k'"}), list, policy)) {
            for (size_t i = 0; i < list.size(); ++i)
                text += list[i].address == address ? std::to_string(i) : "";
        }
        return text;
    };
    BOOST_TEST(places("all") == "01");
    BOOST_TEST(places("allowed") == "01");
    BOOST_TEST(places("any:1") == "01");
    BOOST_TEST(places("any:1", "1-3") == "1");
    BOOST_TEST(places("any:igpu:1") == "2");
    BOOST_TEST(places("any:gfx1100:1") == "01");
    BOOST_TEST(places("igpu,GPU-0a") == "02");
    BOOST_TEST(places("0-3", "0") == "0");
    BOOST_TEST(places("3").empty());
    BOOST_TEST(places("none").empty());
    BOOST_TEST(addresses_of(list).size() == 4U);
}

BOOST_AUTO_TEST_CASE(what_goes_only_by_name_is_left_out_of_all_and_any)
{
    auto list = four();
    list[3].only_by_name = "it is integrated";
    list[3].groups = {"igpu"};
    Case host = of(list);
    BOOST_TEST(host.choose("all") == "0 1 2");
    BOOST_REQUIRE(host.notes.size() == 1U);
    BOOST_TEST((host.notes[0].level == LogLevel::Info));
    BOOST_TEST(host.notes[0].text == "GPU 3 (GPU-3a) is left out: it is integrated");
    BOOST_TEST((of(list).refuse("any:4").kind == ErrorKind::NotAvailable));
    BOOST_TEST(of(list).choose("3") == "3");
    BOOST_TEST(of(list).choose("igpu") == "3");
    BOOST_TEST(of(list).choose("all,igpu") == "0 1 2 3");
}

BOOST_AUTO_TEST_CASE(a_group_is_what_may_be_had_of_it)
{
    auto list = two_sound();
    list[0].groups = {"gfx1036"};
    Case host = of(list);
    BOOST_TEST(host.choose("GFX1100") == "1");
    BOOST_TEST(host.notes.size() == 2U);
    BOOST_TEST((of(list).refuse("gfx90a").kind == ErrorKind::NotAvailable));
    list[1].groups.clear();
    BOOST_TEST((of(list).refuse("gfx1100").kind == ErrorKind::BrokenHost));
}

BOOST_AUTO_TEST_CASE(allowed_is_what_this_process_may_open_of_all)
{
    auto list = four();
    list[0].closed = "its cgroup keeps it";
    list[2].only_by_name = "it is integrated";
    Case host = of(list);
    BOOST_TEST(host.choose("allowed") == "1 3");
    BOOST_REQUIRE(host.notes.size() == 2U);
    BOOST_TEST(host.notes[0].text == "GPU 0 (GPU-0a) is left out: its cgroup keeps it");
    BOOST_TEST(host.choose("0,allowed") == "0 1 3"); // by name, it is whoever makes the node that decides
    BOOST_TEST(host.choose("all") == "0 1 3");
    host.policy.max_devices = 1;
    BOOST_TEST(host.choose("allowed") == "any:1 of 1 3");
}

BOOST_AUTO_TEST_CASE(none_allowed_is_an_error_that_says_why)
{
    auto list = two_sound();
    list[0].closed = list[1].closed = "its cgroup keeps it";
    const auto failure = of(list).refuse("allowed");
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(failure.message ==
               "no GPU 'allowed': this process may open none: 0 (GPU-0a): its cgroup keeps "
               "it; 1 (GPU-1a): its cgroup keeps it");
    list[0].closed.clear();
    Case policy = Case::allowing("1");
    policy.candidates = list;
    BOOST_TEST((policy.refuse("allowed").kind == ErrorKind::Denied));
    BOOST_TEST(of({}).refuse("allowed").message == "no GPU 'allowed': this host has none");
}

BOOST_AUTO_TEST_SUITE_END()
