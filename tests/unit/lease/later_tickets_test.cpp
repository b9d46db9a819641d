// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include <boost/test/unit_test.hpp>

#include "lease/later_tickets.h"
#include "lease/lease_file.h"
#include "lease/lease_text.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(later_tickets)

using namespace ogh;
using ogh::test::failure_of;

namespace {

/** One that waits for all that it watches, of a container whose init has that number, too. */
Ticket waiting(std::uint64_t number, Watched watched)
{
    const auto pid = static_cast<pid_t>(number);
    Ticket ticket{number, {1000 + pid, 1}, {{pid, 1}, true}, {{"n:0"}, 0, {}, LeaseMode::Exclusive}};
    ticket.deadline_ns = 5;
    ticket.watched = std::move(watched);
    return ticket;
}

/** One has the GPU, and of four each watches the one before it; the third belongs to a later version. */
LeaseFile queue_of_four()
{
    LeaseFile file{{"b", 1, 1}, {}};
    file.state.allocations = {{{{100, 1}, true}, {{"n:0", LeaseMode::Exclusive}}}};
    file.state.tickets = {waiting(1, {{{100, 1}}, {}}), waiting(2, {{}, {1}}), waiting(3, {{}, {1, 2}}),
                          waiting(4, {{}, {3}})};
    file.state.tickets[2].unknown = {" kind=y", " reason text=x\n reason text=z\n"};
    file.state.observers = {{{{101, 1}, true}, {{"n:0"}}}};
    file.state.last_used = {{"n:0", 1}};
    file.state.uses = 1;
    file.state.numbers = 4;
    return file;
}

/** What is to be read besides when these have changed, by whoever has the first ticket. @return the last number */
std::uint64_t last_read(const LeaseFile &file, const std::function<void(LeaseState &)> &change,
                        StateChange other = StateChange::None)
{
    const std::string text = to_text(file);
    LeaseFilePart part = parse_lease_file(text, 1);
    BOOST_TEST(part.file.state.tickets.size() == 1U);
    LeaseState state = part.file.state;
    change(state);
    read_touched(all_in(part.file.state), state, part.later, other);
    add_tickets(part.file.state, part.later);
    BOOST_TEST((part.later.empty() || part.file.state.tickets.back() == file.state.tickets.back()));
    return state.tickets.empty() ? 0 : state.tickets.back().number;
}

void end_the_holder(LeaseState &state)
{
    state.allocations.clear();
}

void take_the_first(LeaseState &state)
{
    state.allocations = {{state.tickets[0].holder, {{"n:0", LeaseMode::Exclusive}}}};
    state.tickets.clear();
}

} // namespace

BOOST_AUTO_TEST_CASE(who_came_later_is_left_in_the_text)
{
    const LeaseFile file = queue_of_four();
    const std::string text = to_text(file);
    for (std::uint64_t number = 1; number <= 4; ++number) {
        LeaseFilePart part = parse_lease_file(text, number);
        BOOST_TEST(part.file.state.tickets.size() == number);
        const LeaseTextParts parts = to_parts(part.file);
        BOOST_TEST(parts.before + std::string(part.later) + parts.behind == text);
        add_tickets(part.file.state, part.later);
        BOOST_TEST((part.file == file));
    }
}

BOOST_AUTO_TEST_CASE(all_are_read_where_some_of_it_is_not_enough)
{
    LeaseFile file = queue_of_four();
    const auto read = [&](std::uint64_t number) {
        const std::string text = to_text(file);
        const LeaseFilePart part = parse_lease_file(text, number);
        BOOST_TEST(part.later.empty());
        return part.file.state.tickets.size();
    };
    BOOST_TEST(read(0) == 4U);
    BOOST_TEST(read(5) == 4U);
    file.state.tickets[3].demand.quotas = {{"q", 1}};
    BOOST_TEST(read(1) == 4U);
    file = queue_of_four();
    for (Ticket &ticket : file.state.tickets) {
        ticket.unknown = {};
        ticket.watched.reset();
    }
    file.state.observers.clear();
    file.state.tickets[0].is_of_version_1 = true;
    BOOST_TEST(read(2) == 4U);
}

BOOST_AUTO_TEST_CASE(only_those_are_read_for_whom_it_makes_a_difference_and_who_is_before_them)
{
    const LeaseFile file = queue_of_four();
    BOOST_TEST(last_read(file, [](LeaseState &) {}) == 1U);
    BOOST_TEST(last_read(file, end_the_holder) == 1U); // whom nobody behind the first one watches
    BOOST_TEST(last_read(file, take_the_first) == 3U); // with what stands below it
    LeaseFile other = file;
    other.state.tickets[3].watched->holders.insert({100, 1});
    BOOST_TEST(last_read(other, end_the_holder) == 4U);
    other = file;
    other.state.tickets[1].holder.init = {100, 1}; // its container has something
    BOOST_TEST(last_read(other, [](LeaseState &) {}) == 2U);
}

BOOST_AUTO_TEST_CASE(all_are_read_where_it_may_make_a_difference_for_anybody)
{
    const LeaseFile file = queue_of_four();
    BOOST_TEST(last_read(
                   file, [](LeaseState &) {}, StateChange::Other) == 4U);
    BOOST_TEST(last_read(file, [](LeaseState &state) { state.drains = {{"n:1", 1}}; }) == 4U);
}

BOOST_AUTO_TEST_CASE(an_error_says_in_which_line_it_is_whatever_is_read)
{
    std::string text = to_text(queue_of_four());
    text.replace(text.find("used use=1"), 10, "used use=x");
    const auto message = [&](std::uint64_t number) {
        return failure_of([&] { parse_lease_file(text, number); }).message;
    };
    BOOST_TEST(message(1) == message(0));
    BOOST_TEST(message(0).find(" line 12") != std::string::npos, message(0));
}

BOOST_AUTO_TEST_SUITE_END()
