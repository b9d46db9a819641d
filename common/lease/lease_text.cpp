// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_text.h"

#include <algorithm>

#include "base/error.h"
#include "lease/lease_fields.h"
#include "lease/lease_words.h"

namespace ogh {

namespace {

/** Writes in one of the two versions, which have the same words but for the devices of a allocation. */
class LeaseWriter final {
public:
    LeaseWriter(std::string &text, unsigned version) : text_(text), is_first_(version == 1) {}

    void add(const ProcessSpace &space)
    {
        LeaseLine line = begin("space");
        line.add("boot", space.boot);
        line.add("pid-namespace", space.pid_namespace);
        line.add("start", space.start_time);
        text_ += '\n';
    }

    void add_counters(const LeaseState &state)
    {
        LeaseLine line = begin(is_first_ ? "uses" : "counters");
        line.add("uses", state.uses);
        if (is_first_)
            text_ += "\nnumbers";
        line.add("numbers", state.numbers);
        end(state.unknown.fields);
    }

    /** @param kind of its line */
    void add(const Allocation &allocation, std::string_view kind = "holding")
    {
        LeaseLine line = begin(kind);
        line.add("taken", time_word(allocation.taken_ns));
        line.add("since", time_word(allocation.since));
        if (is_first_) {
            line.add("devices", std::uint64_t{allocation.devices.size()});
            for (const LeasedDevice &device : allocation.devices)
                add_fields(line, device);
        }
        add_fields(line, allocation.holder, allocation.holder.program);
        if (is_first_)
            check_empty(!allocation.limit);
        else
            add_endings(line, allocation);
        end(allocation.unknown.fields);
        for (const LeasedDevice &device : allocation.devices) {
            if (is_first_) {
                check_limits(device.quotas, device.max_sharers);
                check(device.unknown);
                continue;
            }
            LeaseLine own = begin(" device");
            add_fields(own, device);
            add_limits(own, device.quotas, device.max_sharers);
            end(device.unknown);
        }
        for (const auto &[name, devices] : allocation.requests) {
            LeaseLine own = begin(is_first_ ? "request" : " request");
            own.add("name", name);
            own.add("devices", devices);
            const auto unknown = allocation.unknown_of_requests.find(name);
            end(unknown == allocation.unknown_of_requests.end() ? "" : unknown->second);
        }
        add_lines(allocation.unknown.lines);
    }

    void add(const Ticket &ticket)
    {
        LeaseLine line = begin("ticket");
        line.add("number", ticket.number);
        line.add("hook", static_cast<std::uint64_t>(ticket.hook.pid));
        line.add("hook-start", ticket.hook.start_time);
        line.add("deadline", time_word(ticket.deadline_ns));
        line.add("since", time_word(ticket.since));
        add_fields(line, ticket.demand);
        const bool is_marked = is_first_ && !ticket.is_of_version_1;
        add_fields(line, ticket.holder, is_marked ? mark_of_later : ticket.holder.program);
        check_limits(ticket.demand.quotas, ticket.demand.max_sharers);
        add_limits(line, ticket.demand.quotas, ticket.demand.max_sharers);
        check_empty(!ticket.watched);
        add_watched(line, ticket.watched);
        if (ticket.until != 0 && !is_first_)
            line.add("until", time_word(ticket.until));
        end(ticket.unknown.fields);
        add_lines(ticket.unknown.lines);
    }

    void add(const Drain &drain)
    {
        LeaseLine line = begin("drain");
        line.add("since", time_word(drain.since));
        line.add("key", drain.key);
        check_empty(drain.until_ns == 0 && drain.reason.empty() && drain.by.empty());
        if (drain.until_ns != 0)
            line.add("until", time_word(drain.until_ns));
        if (!drain.reason.empty())
            line.add("reason", drain.reason);
        if (!drain.by.empty())
            line.add("by", drain.by);
        end(drain.unknown.fields);
        add_lines(drain.unknown.lines);
    }

    void add_uses(const LeaseState &state)
    {
        for (const auto &[key, use] : state.last_used) {
            LeaseLine line = begin("used");
            line.add("use", use);
            line.add("key", key);
            // Nothing comes of it if they are forgotten while an earlier version waits.
            if (const auto ends = state.quick_ends.find(key); !is_first_ && ends != state.quick_ends.end())
                add_quick_ends(line, ends->second);
            const auto unknown = state.unknown_of_uses.find(key);
            end(unknown == state.unknown_of_uses.end() ? "" : unknown->second);
        }
    }

    void add_observers(const LeaseState &state)
    {
        check_empty(state.observers.empty());
        for (const Allocation &observer : state.observers)
            add(observer, "observer");
        // They are there for people alone.
        for (size_t i = 0; !is_first_ && i < state.deprived.size(); ++i)
            add(state.deprived[i], "deprived");
    }

    void add_lines(const std::string &lines)
    {
        check(lines);
        text_ += lines;
    }

private:
    LeaseLine begin(std::string_view kind)
    {
        return {text_, kind, is_first_ ? LeaseWordStyle::Plain : LeaseWordStyle::Named};
    }

    void end(const std::string &unknown)
    {
        check(unknown);
        text_ += unknown;
        text_ += '\n';
    }

    void check(const std::string &unknown) const { check_empty(unknown.empty()); }

    void check_limits(const Quotas &quotas, const std::optional<unsigned> &max_sharers) const
    {
        check_empty(quotas.empty() && !max_sharers);
    }

    void check_empty(bool is_empty) const
    {
        if (is_first_ && !is_empty)
            throw Error(ErrorKind::BrokenHost,
                        "the lease file stays version 1 as long as a hook of an earlier version waits, and "
                        "that cannot say all that is to be written down: try again when it has ended");
    }

    std::string &text_;
    bool is_first_; ///< version 1
};

LeaseTextParts to_parts(const LeaseFile &file, unsigned version)
{
    constexpr size_t usual_line = 384;
    const LeaseState &state = file.state;
    LeaseTextParts parts;
    std::string &text = parts.before;
    text.reserve(usual_line * (state.allocations.size() + state.tickets.size() + 4));
    text += lease_file_heading;
    text += std::to_string(version) + '\n';
    LeaseWriter writer(text, version);
    writer.add(file.space);
    writer.add_counters(state);
    for (const Allocation &allocation : state.allocations)
        writer.add(allocation);
    for (const Ticket &ticket : state.tickets)
        writer.add(ticket);
    LeaseWriter rest(parts.behind, version);
    for (const Drain &drain : state.drains)
        rest.add(drain);
    rest.add_uses(state);
    rest.add_observers(state);
    rest.add_lines(state.unknown.lines);
    parts.behind += "end\n";
    return parts;
}

} // namespace

unsigned version_for(const LeaseState &state)
{
    const bool is_read_by_earlier = std::any_of(state.tickets.begin(), state.tickets.end(),
                                                [](const Ticket &ticket) { return ticket.is_of_version_1; });
    return is_read_by_earlier ? 1 : lease_file_version;
}

std::string to_text(const LeaseFile &file, unsigned version)
{
    LeaseTextParts parts = to_parts(file, version);
    return std::move(parts.before += parts.behind);
}

std::string to_text(const LeaseFile &file)
{
    return to_text(file, version_for(file.state));
}

LeaseTextParts to_parts(const LeaseFile &file)
{
    return to_parts(file, version_for(file.state));
}

size_t text_size(const Allocation &allocation)
{
    std::string text;
    LeaseWriter(text, lease_file_version).add(allocation);
    return text.size();
}

size_t text_size(const Ticket &ticket)
{
    std::string text;
    LeaseWriter(text, lease_file_version).add(ticket);
    return text.size();
}

} // namespace ogh
