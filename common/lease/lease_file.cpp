// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_file.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "lease/lease_fields.h"
#include "lease/lease_words.h"

namespace ogh {

namespace {

/** Reads the text line by line; which lines there may be, in which order, says read(). */
class Reader final {
public:
    explicit Reader(std::string_view text) : left_(text) {}

    LeaseFilePart read(std::uint64_t last) // the ticket behind which none need be read
    {
        LeaseFilePart part;
        LeaseFile &file = part.file;
        check_heading();
        file.space = space();
        read_counters(file.state);
        while (next_is("holding"))
            file.state.allocations.push_back(allocation("holding"));
        while (next_is("ticket")) {
            file.state.tickets.push_back(ticket(file.state));
            if (file.state.tickets.back().number == last)
                part.later = pass_tickets();
        }
        while (next_is("drain"))
            file.state.drains.push_back(drain());
        while (next_is("used"))
            add_use(file.state);
        while (!is_first_ && next_is("observer"))
            file.state.observers.push_back(allocation("observer"));
        while (!is_first_ && next_is("deprived"))
            file.state.deprived.push_back(allocation("deprived"));
        if (!is_first_ && !left_.starts_with(' ')) // "used" has none that belong to it
            read_unknown(file.state);
        if (left_ != "end\n")
            refuse();
        return part;
    }

    /** Where there is nothing else. */
    void read_tickets(LeaseState &state)
    {
        while (next_is("ticket"))
            state.tickets.push_back(ticket(state));
        if (!left_.empty())
            refuse();
    }

private:
    [[noreturn]] void refuse() const
    {
        throw Error(ErrorKind::BrokenHost, "the lease file cannot be understood from line " +
                                               std::to_string(line_number_ + 1) + " on");
    }

    std::string_view line()
    {
        const size_t end = left_.find('\n');
        if (end == std::string_view::npos)
            refuse();
        const std::string_view found = left_.substr(0, end);
        left_.remove_prefix(end + 1);
        ++line_number_;
        return found;
    }

    void check_heading()
    {
        std::string_view first = left_.substr(0, left_.find('\n'));
        if (!first.starts_with(lease_file_heading))
            throw Error(ErrorKind::BrokenHost, "the lease file is none of this program's");
        first.remove_prefix(lease_file_heading.size());
        const auto version = parse_number(first);
        if (first != "1" && first != std::to_string(lease_file_version))
            throw Error(ErrorKind::BrokenHost,
                        "the lease file has version " + (version ? std::string(first) : quote(first)) +
                            ", and this program knows version " + std::to_string(lease_file_version));
        is_first_ = first == "1";
        line();
    }

    [[nodiscard]] bool next_is(std::string_view kind) const
    {
        return left_.starts_with(kind) && left_.substr(kind.size()).starts_with(' ');
    }

    /** The words behind the first one of a line of that kind. */
    LeaseWords words(std::string_view kind)
    {
        if (!next_is(kind))
            refuse();
        const std::string_view found = line().substr(kind.size() + 1);
        return {found, line_number_, is_first_ ? LeaseWordStyle::Plain : LeaseWordStyle::Named};
    }

    /** Adds a line that this version does not know; it is none of those kinds, which stand elsewhere. */
    void add_unknown_line(std::string &lines, std::initializer_list<std::string_view> known)
    {
        const std::string_view whole = left_.substr(0, left_.find('\n'));
        const std::string_view words = whole.substr(whole.starts_with(' ') ? 1 : 0);
        const std::string_view kind = words.substr(0, words.find(' '));
        if (!is_lease_name(kind) || kind.size() == words.size() ||
            std::find(known.begin(), known.end(), kind) != known.end())
            refuse();
        line();
        static_cast<void>(
            LeaseWords(words.substr(kind.size() + 1), line_number_, LeaseWordStyle::Named).unknown());
        lines += whole;
        lines += '\n';
    }

    void read_unknown(LeaseState &state)
    {
        while (left_ != "end\n")
            add_unknown_line(state.unknown.lines, {"space", "counters", "holding", "ticket", "drain", "used",
                                                   "observer", "deprived", "end"});
    }

    /** Those that belong to the line before. */
    std::string unknown_lines(std::initializer_list<std::string_view> known = {})
    {
        std::string lines;
        while (!is_first_ && left_.starts_with(' '))
            add_unknown_line(lines, known);
        return lines;
    }

    ProcessSpace space()
    {
        LeaseWords words = this->words("space");
        ProcessSpace space{words.text("boot"), words.number("pid-namespace"), words.number("start")};
        if (!words.unknown().empty())
            words.refuse("end of the line");
        return space;
    }

    void read_counters(LeaseState &state)
    {
        LeaseWords words = this->words(is_first_ ? "uses" : "counters");
        state.uses = words.number("uses");
        if (is_first_) {
            static_cast<void>(words.unknown());
            words = this->words("numbers");
        }
        state.numbers = words.number("numbers");
        state.unknown.fields = words.unknown();
    }

    Allocation allocation(std::string_view kind)
    {
        LeaseWords words = this->words(kind);
        Allocation allocation;
        allocation.taken_ns = take_time(words, "taken");
        allocation.since = take_time(words, "since");
        const std::uint64_t devices = is_first_ ? words.number("devices") : 0;
        for (std::uint64_t count = 0; count < devices; ++count)
            allocation.devices.push_back(take_device(words));
        allocation.holder = take_holder(words);
        take_endings(words, allocation);
        allocation.unknown.fields = words.unknown();
        while (!is_first_ && next_is(" device"))
            add_device(allocation.devices);
        if (allocation.devices.empty())
            words.refuse("devices");
        const std::string_view request = is_first_ ? "request" : " request";
        while (next_is(request))
            add_request(allocation, request);
        allocation.unknown.lines = unknown_lines({"device", "request"});
        return allocation;
    }

    void add_device(std::vector<LeasedDevice> &devices)
    {
        LeaseWords words = this->words(" device");
        devices.push_back(take_device(words));
        take_limits(words, devices.back().quotas, devices.back().max_sharers);
        devices.back().unknown = words.unknown();
    }

    void add_request(Allocation &allocation, std::string_view kind)
    {
        LeaseWords words = this->words(kind);
        GrantedRequests &requests = allocation.requests;
        const std::string name = words.text("name");
        if (name.empty() || (!requests.empty() && name <= requests.rbegin()->first))
            words.refuse("name");
        requests.emplace_hint(requests.end(), name, words.list("devices"));
        if (std::string unknown = words.unknown(); !unknown.empty())
            allocation.unknown_of_requests[name] = std::move(unknown);
    }

    /** Numbers that are given out once must not come again. */
    Ticket ticket(const LeaseState &state)
    {
        LeaseWords words = this->words("ticket");
        Ticket ticket;
        ticket.number = words.number("number", state.numbers);
        if (ticket.number <= (state.tickets.empty() ? 0 : state.tickets.back().number))
            words.refuse("number");
        ticket.hook = take_process(words, "hook", "hook-start");
        ticket.deadline_ns = take_time(words, "deadline");
        ticket.since = take_time(words, "since");
        ticket.demand = take_demand(words);
        ticket.holder = take_holder(words);
        ticket.is_of_version_1 = is_first_ && ticket.holder.program != mark_of_later;
        take_limits(words, ticket.demand.quotas, ticket.demand.max_sharers);
        ticket.watched = take_watched(words);
        if (words.next_is("until") && (ticket.until = take_time(words, "until")) == 0)
            words.refuse("until");
        ticket.unknown.fields = words.unknown();
        ticket.unknown.lines = unknown_lines();
        return ticket;
    }

    /** Passes by those that are left. @return their lines; nothing: they are to be read */
    std::string_view pass_tickets()
    {
        if (is_first_ || !next_is("ticket"))
            return {};
        size_t end = left_.find('\n', left_.rfind("\nticket ") + 1); // of the last one
        while (end != std::string_view::npos && left_.substr(end + 1).starts_with(' '))
            end = left_.find('\n', end + 1);
        const std::string_view lines = left_.substr(0, end + 1); // none of a text that is cut off
        if (lines.find("quotas=") != std::string_view::npos)
            return {};
        left_.remove_prefix(lines.size());
        return lines;
    }

    Drain drain()
    {
        LeaseWords words = this->words("drain");
        const std::int64_t since = take_time(words, "since");
        Drain drain{take_key(words), since};
        if (words.next_is("until") && (drain.until_ns = take_time(words, "until")) == 0)
            words.refuse("until");
        if (words.next_is("reason") && (drain.reason = words.text("reason")).empty())
            words.refuse("reason");
        if (words.next_is("by") && (drain.by = words.text("by")).empty())
            words.refuse("by");
        drain.unknown = {words.unknown(), unknown_lines()};
        return drain;
    }

    void add_use(LeaseState &state)
    {
        LeaseWords words = this->words("used");
        const std::uint64_t use = words.number("use", state.uses);
        const LeaseKey device = take_key(words);
        if (!state.last_used.empty() && device <= state.last_used.rbegin()->first)
            words.refuse("key");
        state.last_used.emplace_hint(state.last_used.end(), device, use);
        if (auto ends = take_quick_ends(words); !ends.empty())
            state.quick_ends[device] = std::move(ends);
        if (std::string unknown = words.unknown(); !unknown.empty())
            state.unknown_of_uses[device] = std::move(unknown);
    }

    std::string_view left_;
    size_t line_number_ = 0;
    bool is_first_ = false; ///< version 1
};

} // namespace

LeaseFile parse_lease_file(std::string_view text)
{
    return parse_lease_file(text, 0).file;
}

LeaseFilePart parse_lease_file(std::string_view text, std::uint64_t ticket)
{
    LeaseFilePart part;
    try {
        part = Reader(text).read(ticket);
    } catch (const Error &) {
        if (ticket == 0)
            throw;
        part.file = parse_lease_file(text); // which says where
    }
    if (const std::string problem = contradiction(part.file.state); !problem.empty())
        throw Error(ErrorKind::BrokenHost, "the lease file says what cannot be: " + problem);
    return part;
}

void add_tickets(LeaseState &state, std::string_view lines)
{
    Reader(lines).read_tickets(state);
}

} // namespace ogh
