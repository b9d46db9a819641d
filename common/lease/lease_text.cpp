// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_text.h"

#include <algorithm>

#include "lease/lease_words.h"

namespace ogh {

namespace {

std::string_view word_of(const LeaseChoice &choice, bool value)
{
    return value ? choice.yes : choice.no;
}

std::string_view word_of(LeaseMode mode)
{
    return word_of(exclusive_or_shared, mode == LeaseMode::Exclusive);
}

void add_time(std::string &line, std::int64_t time)
{
    add_word(line, static_cast<std::uint64_t>(std::max(time, std::int64_t{0})));
}

void add_process(std::string &line, const ProcessId &process)
{
    add_word(line, static_cast<std::uint64_t>(process.pid));
    add_word(line, process.start_time);
}

void add_holder(std::string &line, const Holder &holder)
{
    const OwnCgroup cgroup = holder.cgroup.value_or(OwnCgroup());
    add_process(line, holder.init);
    add_word(line, word_of(own_or_joined, holder.own_pid_namespace));
    add_word(line, cgroup.inode);
    add_word(line, cgroup.controller);
    add_word(line, cgroup.path);
    add_word(line, holder.container);
    add_word(line, holder.program);
}

void add_holding(std::string &text, const Holding &holding)
{
    text += "holding";
    add_time(text, holding.taken_ns);
    add_time(text, holding.since);
    add_word(text, holding.devices.size());
    for (const LeasedDevice &device : holding.devices) {
        add_word(text, word_of(device.mode));
        add_word(text, device.key);
    }
    add_holder(text, holding.holder);
    text += '\n';
    for (const auto &[name, devices] : holding.requests) {
        text += "request";
        add_word(text, name);
        add_list(text, devices);
        text += '\n';
    }
}

void add_ticket(std::string &text, const Ticket &ticket)
{
    text += "ticket";
    add_word(text, ticket.number);
    add_process(text, ticket.hook);
    add_time(text, ticket.deadline_ns);
    add_time(text, ticket.since);
    add_word(text, word_of(ticket.demand.mode));
    add_list(text, ticket.demand.fixed);
    add_word(text, std::uint64_t{ticket.demand.any});
    add_list(text, ticket.demand.candidates);
    add_holder(text, ticket.holder);
    text += '\n';
}

} // namespace

std::string to_text(const LeaseFile &file)
{
    constexpr size_t usual_line = 256;
    const LeaseState &state = file.state;
    std::string text;
    text.reserve(usual_line * (state.holdings.size() + state.tickets.size() + 4) +
                 64 * state.last_used.size());
    text += lease_file_heading;
    text += std::to_string(lease_file_version) + "\nspace";
    add_word(text, file.space.boot);
    add_word(text, file.space.pid_namespace);
    add_word(text, file.space.start_time);
    text += "\nuses " + std::to_string(state.uses) + "\nnumbers " + std::to_string(state.numbers) + '\n';
    for (const Holding &holding : state.holdings)
        add_holding(text, holding);
    for (const Ticket &ticket : state.tickets)
        add_ticket(text, ticket);
    for (const Drain &drain : state.drains) {
        text += "drain";
        add_time(text, drain.since);
        add_word(text, drain.key);
        text += '\n';
    }
    for (const auto &[key, use] : state.last_used) {
        text += "used";
        add_word(text, use);
        add_word(text, key);
        text += '\n';
    }
    text += "end\n";
    return text;
}

size_t text_size(const Holding &holding)
{
    std::string text;
    add_holding(text, holding);
    return text.size();
}

size_t text_size(const Ticket &ticket)
{
    std::string text;
    add_ticket(text, ticket);
    return text.size();
}

} // namespace ogh
