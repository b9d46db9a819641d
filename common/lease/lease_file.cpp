// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_file.h"

#include <limits>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "lease/lease_words.h"

namespace ogh {

namespace {

constexpr auto most_time = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

/** Reads the text line by line; which lines there may be, in which order, says read(). */
class Reader final {
public:
    explicit Reader(std::string_view text) : left_(text) {}

    LeaseFile read()
    {
        LeaseFile file;
        check_heading();
        file.space = space();
        file.state.uses = counter("uses");
        file.state.numbers = counter("numbers");
        while (next_is("holding"))
            file.state.holdings.push_back(holding());
        while (next_is("ticket"))
            file.state.tickets.push_back(ticket(file.state));
        while (next_is("drain"))
            file.state.drains.push_back(drain());
        while (next_is("used"))
            add_use(file.state);
        if (left_ != "end\n")
            refuse();
        return file;
    }

private:
    [[noreturn]] void refuse() const
    {
        throw Error(ExitCode::Host, "the lease file cannot be understood from line " +
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
            throw Error(ExitCode::Host, "the lease file is none of this program's");
        first.remove_prefix(lease_file_heading.size());
        const auto version = parse_number(first);
        if (first != std::to_string(lease_file_version))
            throw Error(ExitCode::Host,
                        "the lease file has version " + (version ? std::string(first) : quote(first)) +
                            ", and this program knows version " + std::to_string(lease_file_version));
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
        return {found, line_number_};
    }

    ProcessSpace space()
    {
        LeaseWords words = this->words("space");
        ProcessSpace space{words.text("boot"), words.number("pid namespace"), words.number("start")};
        words.end();
        return space;
    }

    std::uint64_t counter(const char *name)
    {
        LeaseWords words = this->words(name);
        const std::uint64_t value = words.number(name);
        words.end();
        return value;
    }

    static bool either(LeaseWords &words, const LeaseChoice &choice, const char *name)
    {
        const std::string_view word = words.word(name);
        if (word != choice.yes && word != choice.no)
            words.refuse(name);
        return word == choice.yes;
    }

    static LeaseMode mode(LeaseWords &words)
    {
        return either(words, exclusive_or_shared, "mode") ? LeaseMode::Exclusive : LeaseMode::Shared;
    }

    static std::int64_t time(LeaseWords &words, const char *name)
    {
        return static_cast<std::int64_t>(words.number(name, most_time));
    }

    static LeaseKey key(LeaseWords &words)
    {
        LeaseKey key = words.text("key");
        if (key.empty())
            words.refuse("key");
        return key;
    }

    static ProcessId process(LeaseWords &words)
    {
        const std::uint64_t pid = words.number("pid", std::numeric_limits<pid_t>::max());
        if (pid == 0)
            words.refuse("pid");
        return {static_cast<pid_t>(pid), words.number("start")};
    }

    static Holder holder(LeaseWords &words)
    {
        Holder holder{process(words), either(words, own_or_joined, "pid namespace")};
        const std::uint64_t inode = words.number("inode");
        OwnCgroup cgroup{words.text("controller"), words.text("cgroup"), inode};
        if (!cgroup.path.empty())
            holder.cgroup = std::move(cgroup);
        else if (inode != 0 || !cgroup.controller.empty())
            words.refuse("cgroup");
        holder.container = words.text("container");
        holder.program = words.text("program");
        words.end();
        return holder;
    }

    Holding holding()
    {
        LeaseWords words = this->words("holding");
        Holding holding;
        holding.taken_ns = time(words, "taken");
        holding.since = time(words, "since");
        const std::uint64_t devices = words.number("devices");
        if (devices == 0)
            words.refuse("devices");
        for (std::uint64_t count = 0; count < devices; ++count) {
            const LeaseMode mode = Reader::mode(words);
            holding.devices.push_back({key(words), mode});
        }
        holding.holder = holder(words);
        while (next_is("request"))
            add_request(holding.requests);
        return holding;
    }

    void add_request(GrantedRequests &requests)
    {
        LeaseWords words = this->words("request");
        const std::string name = words.text("name");
        if (name.empty() || (!requests.empty() && name <= requests.rbegin()->first))
            words.refuse("name");
        requests.emplace_hint(requests.end(), name, words.list("devices"));
        words.end();
    }

    static Demand demand(LeaseWords &words)
    {
        Demand demand;
        demand.mode = mode(words);
        demand.fixed = words.list("fixed");
        demand.any = static_cast<unsigned>(words.number("any", std::numeric_limits<unsigned>::max()));
        demand.candidates = words.list("candidates");
        return demand;
    }

    /** Numbers that are given out once must not come again. */
    Ticket ticket(const LeaseState &state)
    {
        LeaseWords words = this->words("ticket");
        Ticket ticket;
        ticket.number = words.number("number", state.numbers);
        if (ticket.number <= (state.tickets.empty() ? 0 : state.tickets.back().number))
            words.refuse("number");
        ticket.hook = process(words);
        ticket.deadline_ns = time(words, "deadline");
        ticket.since = time(words, "since");
        ticket.demand = demand(words);
        ticket.holder = holder(words);
        return ticket;
    }

    Drain drain()
    {
        LeaseWords words = this->words("drain");
        const std::int64_t since = time(words, "since");
        Drain drain{key(words), since};
        words.end();
        return drain;
    }

    void add_use(LeaseState &state)
    {
        LeaseWords words = this->words("used");
        const std::uint64_t use = words.number("use", state.uses);
        const LeaseKey device = key(words);
        if (!state.last_used.empty() && device <= state.last_used.rbegin()->first)
            words.refuse("key");
        state.last_used.emplace_hint(state.last_used.end(), device, use);
        words.end();
    }

    std::string_view left_;
    size_t line_number_ = 0;
};

} // namespace

LeaseFile parse_lease_file(std::string_view text)
{
    LeaseFile file = Reader(text).read();
    if (const std::string problem = contradiction(file.state); !problem.empty())
        throw Error(ExitCode::Host, "the lease file says what cannot be: " + problem);
    return file;
}

} // namespace ogh
