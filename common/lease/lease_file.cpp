// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_file.h"

#include <limits>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace ogh {

using nlohmann::json;

namespace {

constexpr const char *what = "the lease file";

const json &member(const json &object, const char *name)
{
    const json *found = object.is_object() ? find_member(object, name) : nullptr;
    if (found == nullptr)
        throw Error(ExitCode::Host, std::string(what) + " lacks " + quote(name));
    return *found;
}

[[noreturn]] void refuse(const char *name)
{
    throw Error(ExitCode::Host, std::string(what) + " has a wrong value of " + quote(name));
}

std::uint64_t number(const json &object, const char *name,
                     std::uint64_t most = std::numeric_limits<std::uint64_t>::max())
{
    const json &value = member(object, name);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
        refuse(name);
    return value.get<std::uint64_t>();
}

std::int64_t time_of(const json &object, const char *name)
{
    return static_cast<std::int64_t>(number(object, name, std::numeric_limits<std::int64_t>::max()));
}

std::string text_of(const json &object, const char *name)
{
    return checked_string(member(object, name), name, what);
}

bool flag(const json &object, const char *name)
{
    const json &value = member(object, name);
    if (!value.is_boolean())
        refuse(name);
    return value.get<bool>();
}

const json &list(const json &object, const char *name)
{
    const json &value = member(object, name);
    if (!value.is_array())
        refuse(name);
    return value;
}

json from(const ProcessId &process)
{
    return {{"pid", process.pid}, {"start", process.start_time}, {"pid_namespace", process.pid_namespace}};
}

ProcessId process_of(const json &object)
{
    const auto pid = static_cast<pid_t>(number(object, "pid", std::numeric_limits<pid_t>::max()));
    if (pid == 0)
        refuse("pid");
    return {pid, number(object, "start"), number(object, "pid_namespace")};
}

json from(const Holder &holder)
{
    json object = {{"init", from(holder.init)},
                   {"own_pid_namespace", holder.own_pid_namespace},
                   {"container", as_utf8(holder.container)},
                   {"program", as_utf8(holder.program)}};
    if (holder.cgroup)
        object["cgroup"] = {{"controller", holder.cgroup->controller},
                            {"path", as_utf8(holder.cgroup->path)},
                            {"inode", holder.cgroup->inode}};
    return object;
}

Holder holder_of(const json &object)
{
    Holder holder{process_of(member(object, "init")), flag(object, "own_pid_namespace")};
    holder.container = text_of(object, "container");
    holder.program = text_of(object, "program");
    if (const json *cgroup = find_member(object, "cgroup"))
        holder.cgroup =
            OwnCgroup{text_of(*cgroup, "controller"), text_of(*cgroup, "path"), number(*cgroup, "inode")};
    return holder;
}

const char *name_of(LeaseMode mode)
{
    return mode == LeaseMode::Exclusive ? "exclusive" : "shared";
}

LeaseMode mode_of(const json &object)
{
    const std::string text = text_of(object, "mode");
    if (text != "exclusive" && text != "shared")
        refuse("mode");
    return text == "exclusive" ? LeaseMode::Exclusive : LeaseMode::Shared;
}

json from(const Holding &holding)
{
    json devices = json::array();
    for (const LeasedDevice &device : holding.devices)
        devices.push_back({{"key", device.key}, {"mode", name_of(device.mode)}});
    return {{"holder", from(holding.holder)},
            {"devices", std::move(devices)},
            {"taken_ns", holding.taken_ns},
            {"since", holding.since}};
}

Holding holding_of(const json &object)
{
    Holding holding{
        holder_of(member(object, "holder")), {}, time_of(object, "taken_ns"), time_of(object, "since")};
    for (const json &device : list(object, "devices"))
        holding.devices.push_back({text_of(device, "key"), mode_of(device)});
    return holding;
}

json from(const Demand &demand)
{
    return {{"fixed", demand.fixed},
            {"any", demand.any},
            {"candidates", demand.candidates},
            {"mode", name_of(demand.mode)}};
}

std::vector<LeaseKey> keys_of(const json &object, const char *name)
{
    std::vector<LeaseKey> keys;
    for (const json &key : list(object, name))
        keys.push_back(checked_string(key, name, what));
    return keys;
}

Demand demand_of(const json &object)
{
    return {keys_of(object, "fixed"),
            static_cast<unsigned>(number(object, "any", std::numeric_limits<unsigned>::max())),
            keys_of(object, "candidates"), mode_of(object)};
}

json from(const Ticket &ticket)
{
    return {{"number", ticket.number},           {"hook", from(ticket.hook)},
            {"holder", from(ticket.holder)},     {"demand", from(ticket.demand)},
            {"deadline_ns", ticket.deadline_ns}, {"since", ticket.since}};
}

Ticket ticket_of(const json &object)
{
    return {number(object, "number"),
            process_of(member(object, "hook")),
            holder_of(member(object, "holder")),
            demand_of(member(object, "demand")),
            time_of(object, "deadline_ns"),
            time_of(object, "since")};
}

json from(const Drain &drain)
{
    return {{"key", drain.key}, {"since", drain.since}};
}

json from(const ProcessSpace &space)
{
    return {{"boot", space.boot}, {"pid_namespace", space.pid_namespace}, {"start", space.start_time}};
}

template<typename Item> json array_of(const std::vector<Item> &items)
{
    json array = json::array();
    for (const Item &item : items)
        array.push_back(from(item));
    return array;
}

/** Numbers that are given out once must not come again. */
void check_numbers(const LeaseState &state)
{
    std::uint64_t before = 0;
    for (const Ticket &ticket : state.tickets) {
        if (ticket.number <= before || ticket.number > state.numbers)
            refuse("number");
        before = ticket.number;
    }
    for (const auto &[key, use] : state.last_used) {
        if (use > state.uses)
            refuse("last_used");
    }
}

LeaseState state_of(const json &document)
{
    LeaseState state;
    for (const json &holding : list(document, "holdings"))
        state.holdings.push_back(holding_of(holding));
    for (const json &ticket : list(document, "tickets"))
        state.tickets.push_back(ticket_of(ticket));
    for (const json &drain : list(document, "drains"))
        state.drains.push_back({text_of(drain, "key"), time_of(drain, "since")});
    const json &used = member(document, "last_used");
    if (!used.is_object())
        refuse("last_used");
    for (const auto &[key, value] : used.items())
        state.last_used[key] = number(used, key.c_str());
    state.uses = number(document, "uses");
    state.numbers = number(document, "numbers");
    check_numbers(state);
    if (const std::string problem = contradiction(state); !problem.empty())
        throw Error(ExitCode::Host, std::string(what) + " says what cannot be: " + problem);
    return state;
}

LeaseFile file_of(const json &document)
{
    const std::uint64_t version = number(document, "version");
    if (version != lease_file_version)
        throw Error(ExitCode::Host, std::string(what) + " has version " + std::to_string(version) +
                                        ", and this program knows version " +
                                        std::to_string(lease_file_version));
    const json &space = member(document, "space");
    return {{text_of(space, "boot"), number(space, "pid_namespace"), number(space, "start")},
            state_of(document)};
}

} // namespace

std::string to_text(const LeaseFile &file)
{
    const LeaseState &state = file.state;
    const json document = {{"version", lease_file_version},
                           {"space", from(file.space)},
                           {"holdings", array_of(state.holdings)},
                           {"tickets", array_of(state.tickets)},
                           {"drains", array_of(state.drains)},
                           {"last_used", state.last_used},
                           {"uses", state.uses},
                           {"numbers", state.numbers}};
    return document.dump() + "\n";
}

LeaseFile parse_lease_file(std::string_view text)
{
    if (text.size() > max_lease_file)
        throw Error(ExitCode::Host,
                    std::string(what) + " is larger than " + std::to_string(max_lease_file) + " bytes");
    try {
        return file_of(
            parse_object(text, what, [](const std::string &, const std::string &) { return true; }));
    } catch (const Error &error) {
        throw Error(ExitCode::Host, error.what());
    }
}

} // namespace ogh
