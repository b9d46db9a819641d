// SPDX-License-Identifier: Apache-2.0
#include "lease/state/lease_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace ogh {

namespace {

void check_size(size_t size)
{
    if (size > max_lease_entry)
        throw Error(
            ErrorKind::BrokenHost,
            "the container asks for more devices than can be written down for one: " + std::to_string(size) +
                " bytes of the lease file, of " + std::to_string(max_lease_entry));
}

using nlohmann::json;

constexpr const char *lease_file = "the lease file";
constexpr size_t escape_size = 4; // "\\xNN"

[[noreturn]] void refuse(const std::string &why)
{
    throw Error(ErrorKind::BrokenHost, std::string(lease_file) + " " + why);
}

[[noreturn]] void refuse_value(const char *name)
{
    refuse("has a wrong value of " + quote(name));
}

constexpr bool stands_for_itself(char character)
{
    return character >= ' ' && character <= '~' && character != '\\';
}

std::string stored(std::string_view text)
{
    std::string escaped;
    for (const char character : text)
        escaped += character == '\\' ? std::string("\\x5c") : std::string(1, character);
    return printable(escaped);
}

/** The other way around; what stored() would not have given is found out by read_whole(). */
std::string read_text(const json &value, const char *name)
{
    const auto *const text = value.get_ptr<const std::string *>();
    if (text == nullptr || text->find('\0') != std::string::npos)
        refuse_value(name);
    if (text->find('\\') == std::string::npos)
        return *text;
    std::string read;
    for (size_t at = 0; at < text->size(); ++at) {
        unsigned char byte = 0;
        const std::string_view digits = std::string_view(*text).substr(at).substr(0, escape_size);
        if (digits.size() == escape_size && digits.starts_with("\\x") &&
            std::from_chars(digits.data() + 2, digits.data() + escape_size, byte, 16).ec == std::errc())
            at += escape_size - 1;
        read += byte == 0 ? (*text)[at] : static_cast<char>(byte);
    }
    return read;
}

template<typename Given, typename Type>
concept Is = std::same_as<std::remove_const_t<Given>, Type>;

// The members of each type, once for both ways: visit(name, member) of those that are always there.

void each_member(auto &visit, Is<ProcessId> auto &id)
{
    visit("pid", id.pid);
    visit("start_time", id.start_time);
}

void each_member(auto &visit, Is<ProcessSpace> auto &space)
{
    visit("boot", space.boot);
    visit("pid_namespace", space.pid_namespace);
    visit("start_time", space.start_time);
}

void each_member(auto &visit, Is<OwnCgroup> auto &cgroup)
{
    visit.optional("controller", cgroup.controller);
    visit("path", cgroup.path);
    visit.optional("inode", cgroup.inode);
}

void each_member(auto &visit, Is<Holder> auto &holder)
{
    visit("init", holder.init);
    visit.optional("own_pid_namespace", holder.own_pid_namespace);
    visit.optional("cgroup", holder.cgroup);
    visit("container", holder.container);
    visit.optional("idle_init", holder.idle_init);
}

void each_member(auto &visit, Is<Quota> auto &quota)
{
    visit("name", quota.name);
    visit("most", quota.most);
}

void each_member(auto &visit, Is<LeasedDevice> auto &device)
{
    visit("key", device.key);
    visit("mode", device.mode);
    visit.optional("quotas", device.quotas);
    visit.optional("max_sharers", device.max_sharers);
}

void each_member(auto &visit, Is<HoldLimit> auto &limit)
{
    visit("until_ns", limit.until_ns);
    visit("grace_ns", limit.grace_ns);
    visit("signal", limit.signal);
    visit.optional("asked_ns", limit.asked_ns);
}

void each_member(auto &visit, Is<DeviceRule> auto &rule)
{
    visit("type", rule.type);
    visit("major", rule.major);
    visit("minor", rule.minor);
    visit("access", rule.access);
}

void each_member(auto &visit, Is<Allocation> auto &allocation)
{
    visit("holder", allocation.holder);
    visit("devices", allocation.devices);
    visit("taken_ns", allocation.taken_ns);
    visit("since", allocation.since);
    visit.optional("requests", allocation.requests);
    visit.optional("limit", allocation.limit);
    visit.optional("others_cpu_ns", allocation.others_cpu_ns);
    visit.optional("has_begun", allocation.has_begun);
    visit.optional("idle_ns", allocation.idle_ns);
    visit.optional("rules", allocation.rules);
    visit.optional("taker", allocation.taker);
}

void each_member(auto &visit, Is<Demand> auto &demand)
{
    visit.optional("fixed", demand.fixed);
    visit.optional("any", demand.any);
    visit.optional("candidates", demand.candidates);
    visit("mode", demand.mode);
    visit.optional("quotas", demand.quotas);
    visit.optional("max_sharers", demand.max_sharers);
}

void each_member(auto &visit, Is<Watched> auto &watched)
{
    visit.optional("holders", watched.holders);
    visit.optional("tickets", watched.tickets);
    visit.optional("drain_ns", watched.drain_ns);
}

void each_member(auto &visit, Is<Ticket> auto &ticket)
{
    visit("number", ticket.number);
    visit("hook", ticket.hook);
    visit("holder", ticket.holder);
    visit("demand", ticket.demand);
    visit("deadline_ns", ticket.deadline_ns);
    visit("since", ticket.since);
    visit.optional("watched", ticket.watched);
    visit.optional("until", ticket.until);
}

void each_member(auto &visit, Is<Drain> auto &drain)
{
    visit("key", drain.key);
    visit("since", drain.since);
    visit.optional("until_ns", drain.until_ns);
    visit.optional("reason", drain.reason);
    visit.optional("by", drain.by);
}

void each_member(auto &visit, Is<LeaseCounts> auto &counts)
{
    visit("grants", counts.grants);
    visit("takeovers", counts.takeovers);
    visit("revocations", counts.revocations);
    visit("waited_ns", counts.waited_ns);
    visit("waits", counts.waits);
    visit("device_ns", counts.device_ns);
}

void each_member(auto &visit, Is<LeaseFile> auto &file)
{
    unsigned version = lease_file_version;
    visit("version", version);
    visit("space", file.space);
    visit("allocations", file.state.allocations);
    visit("tickets", file.state.tickets);
    visit("drains", file.state.drains);
    visit("last_used", file.state.last_used);
    visit("uses", file.state.uses);
    visit("numbers", file.state.numbers);
    visit.optional("early_exits", file.state.early_exits);
    visit.optional("observers", file.state.observers);
    visit.optional("deprived", file.state.deprived);
    visit.optional("counts", file.state.counts);
}

struct Person {
    ProcessId init;
    ContainerLabel label;
};

struct PeopleFile {
    std::vector<Person> people;
};

void each_member(auto &visit, Is<Person> auto &person)
{
    visit("init", person.init);
    visit.optional("name", person.label.name);
    visit.optional("image", person.label.image);
    visit.optional("user", person.label.user);
    visit.optional("asker", person.label.asker);
    visit.optional("bundle", person.label.bundle);
}

void each_member(auto &visit, Is<PeopleFile> auto &file)
{
    visit("people", file.people);
}

// What a value of its type can be besides.
bool are_possible(const Quotas &quotas, const std::optional<unsigned> &max_sharers)
{
    const auto is_out_of_order = [](const Quota &a, const Quota &b) { return a.name >= b.name; };
    return max_sharers != 0U &&
           std::adjacent_find(quotas.begin(), quotas.end(), is_out_of_order) == quotas.end();
}

template<typename Value> bool is_possible(const Value & /*any*/)
{
    return true;
}
bool is_possible(const ProcessId &id)
{
    return id.pid != 0;
}
bool is_possible(const ProcessSpace &space)
{
    return !space.boot.empty();
}
bool is_possible(const OwnCgroup &cgroup)
{
    return !cgroup.path.empty();
}
bool is_possible(const Quota &quota)
{
    return !quota.name.empty() && quota.most != 0;
}
bool is_possible(const LeasedDevice &device)
{
    return !device.key.empty() && are_possible(device.quotas, device.max_sharers);
}
bool is_possible(const HoldLimit &limit)
{
    return limit.signal <= 64; // the last of Linux
}
bool is_possible(const DeviceRule &rule)
{
    return rule.access != 0 && rule.access <= (access_mknod | access_read | access_write);
}
bool is_possible(const Allocation &allocation)
{
    return !allocation.devices.empty() && !allocation.requests.contains("");
}
bool is_possible(const Demand &demand)
{
    return are_possible(demand.quotas, demand.max_sharers);
}
bool is_possible(const Drain &drain)
{
    return !drain.key.empty();
}

constexpr std::array<const char *, 2> words_of(LeaseMode /*type*/)
{
    return {"shared", "exclusive"};
}
constexpr std::array<const char *, 3> words_of(DeviceRule::Type /*type*/)
{
    return {"", "block", "char"}; // 0 is none
}

template<typename Value>
concept Map = requires
{
    typename Value::mapped_type;
};
template<typename Value>
concept Optional = std::same_as<Value, std::optional<typename Value::value_type>>;

template<typename Value> void write(std::string &text, const Value &value);

class LeaseWriter final {
public:
    explicit LeaseWriter(std::string &text) : text_(text) {}

    template<typename Value> void operator()(std::string_view name, const Value &value)
    {
        text_ += std::exchange(before_, ',');
        write(text_, name);
        text_ += ':';
        write(text_, value);
    }
    template<typename Value> void optional(std::string_view name, const Value &value)
    {
        if (value != Value{})
            (*this)(name, value);
    }
    void end() { text_ += before_ == '{' ? "{}" : "}"; }

private:
    std::string &text_;
    char before_ = '{';
};

void write_text(std::string &to, std::string_view text)
{
    to += '"';
    if (std::all_of(text.begin(), text.end(), [](char one) { return stands_for_itself(one) && one != '"'; }))
        to += text;
    else
        for (const char one : stored(text))
            (one == '"' || one == '\\' ? to += '\\' : to) += one;
    to += '"';
}

template<typename Value> void write(std::string &text, const Value &value)
{
    if constexpr (std::is_enum_v<Value>) {
        write_text(text, words_of(value).at(static_cast<size_t>(value)));
    } else if constexpr (std::same_as<Value, bool>) {
        text += value ? "true" : "false";
    } else if constexpr (std::integral<Value>) {
        text += std::to_string(std::max(value, Value{0}));
    } else if constexpr (std::convertible_to<Value, std::string_view>) {
        write_text(text, value);
    } else if constexpr (Optional<Value>) {
        write(text, *value);
    } else if constexpr (Map<Value>) {
        LeaseWriter writer(text);
        for (const auto &[name, member] : value)
            writer(name, member);
        writer.end();
    } else if constexpr (std::ranges::range<Value>) {
        const char *before = "";
        text += '[';
        for (const auto &item : value) {
            text += std::exchange(before, ",");
            write(text, item);
        }
        text += ']';
    } else {
        LeaseWriter writer(text);
        each_member(writer, value);
        writer.end();
    }
}

/** @param size about as long as it will be */
template<typename Value> std::string written(const Value &value, size_t size = 0)
{
    std::string text;
    text.reserve(size);
    write(text, value);
    return text;
}

template<typename Value> void read(const json &from, const char *name, Value &value);

class LeaseReader final {
public:
    LeaseReader(const json &object, const char *name) : object_(object)
    {
        if (!object.is_object())
            refuse_value(name);
    }
    template<typename Value> void operator()(const char *name, Value &value) const
    {
        const auto found = object_.find(name);
        if (found == object_.end())
            refuse("has no " + quote(name));
        read(*found, name, value);
    }
    template<typename Value> void optional(const char *name, Value &value) const
    {
        if (const auto found = object_.find(name); found != object_.end())
            read(*found, name, value);
    }

private:
    const json &object_;
};

template<typename Value> void read_list(const json &from, const char *name, Value &value)
{
    if (!from.is_array())
        refuse_value(name);
    if constexpr (requires { std::tuple_size<Value>::value; }) {
        if (from.size() != value.size())
            refuse_value(name);
        for (size_t i = 0; i < value.size(); ++i)
            read(from[i], name, value[i]);
    } else {
        if constexpr (requires { value.reserve(0); })
            value.reserve(from.size());
        for (const json &each : from) {
            typename Value::value_type item{};
            read(each, name, item);
            value.insert(value.end(), std::move(item));
        }
    }
}

template<typename Value> void read(const json &from, const char *name, Value &value)
{
    if constexpr (std::is_enum_v<Value>) {
        const auto words = words_of(value);
        const auto *const word = std::find(words.begin(), words.end(), read_text(from, name));
        if (word == words.end() || **word == '\0')
            refuse_value(name);
        value = static_cast<Value>(word - words.begin());
    } else if constexpr (std::same_as<Value, bool>) {
        if (!from.is_boolean())
            refuse_value(name);
        value = from.get<bool>();
    } else if constexpr (std::integral<Value>) {
        const auto *const number = from.get_ptr<const json::number_unsigned_t *>();
        if (number == nullptr || !std::in_range<Value>(*number))
            refuse_value(name);
        value = static_cast<Value>(*number);
    } else if constexpr (std::same_as<Value, std::string>) {
        value = read_text(from, name);
    } else if constexpr (Optional<Value>) {
        read(from, name, value.emplace());
    } else if constexpr (Map<Value>) {
        if (!from.is_object())
            refuse_value(name);
        for (const auto &member : from.items())
            read(member.value(), name, value[read_text(member.key(), name)]);
    } else if constexpr (std::ranges::range<Value>) {
        read_list(from, name, value);
    } else {
        LeaseReader reader(from, name);
        each_member(reader, value);
        if (!is_possible(value))
            refuse_value(name);
    }
}

json parse(std::string_view text)
try {
    return parse_object(text, lease_file);
} catch (const Error &error) {
    throw error.as(ErrorKind::BrokenHost);
}

/** What has members that are not known, or one of them twice, of which the library keeps one, is written in another way. */
template<typename File> File read_whole(const json &document, std::string_view text)
{
    File file;
    read(document, "file", file);
    if (written(file, text.size()) + "\n" != text)
        refuse("is not as this program writes it");
    return file;
}

} // namespace

void require_room(const LeaseState &state)
{
    if (state.allocations.size() + state.tickets.size() + state.observers.size() + state.deprived.size() >=
        max_lease_containers)
        throw Error(ErrorKind::BrokenHost,
                    std::to_string(max_lease_containers) +
                        " containers of this host have GPUs or wait for some, and there are "
                        "leases for no more");
}

void check_quota_name(const std::string &name)
{
    if (stored_size(name) > max_quota_word)
        throw Error(ErrorKind::Usage, "the quota " + quote(name) + " has a name of more than " +
                                          std::to_string(max_quota_word) + " bytes");
}

void check_entry(const Allocation &allocation)
{
    check_size(stored_size(allocation));
    const auto is_too_long = [](const LeasedDevice &device) {
        return stored_size(device.key) > max_device_word;
    };
    if (std::any_of(allocation.devices.begin(), allocation.devices.end(), is_too_long))
        throw Error(ErrorKind::BrokenHost, "a device that the container asks for has a name of more than " +
                                               std::to_string(max_device_word) + " bytes");
}

void check_entry(const Ticket &ticket)
{
    check_size(stored_size(ticket));
}

ContainerLabel within_bounds(const ContainerLabel &label)
{
    const auto cut = [](const std::string &text, size_t most) {
        return std::string(beginning_of(text, most));
    };
    return {cut(label.name, max_label_word), cut(label.image, max_label_path),
            cut(label.user, max_label_word), cut(label.asker, max_label_word),
            cut(label.bundle, max_label_path)};
}

bool watches_too_much(const Ticket &ticket)
{
    return stored_size(ticket) > max_lease_entry;
}

LeaseFile parse_lease_file(std::string_view text)
{
    const json document = parse(text);
    const json version = document.value("version", json());
    if (version != lease_file_version)
        refuse("has version " + version.dump(-1, ' ', true) + ", and this program knows version " +
               std::to_string(lease_file_version));
    auto file = read_whole<LeaseFile>(document, text);
    if (const std::string problem = contradiction(file.state); !problem.empty())
        refuse("says what cannot be: " + problem);
    return file;
}

std::string to_text(const LeaseFile &file)
{
    return written(file) + "\n";
}

LeasePeople parse_people(std::string_view text)
{
    LeasePeople people;
    for (Person &person : read_whole<PeopleFile>(parse(text), text).people)
        people[person.init] = std::move(person.label);
    return people;
}

std::string to_text(const LeasePeople &people)
{
    PeopleFile file;
    for (const auto &[init, label] : people)
        file.people.push_back({init, label});
    return written(file) + "\n";
}

size_t stored_size(std::string_view text)
{
    return written(text).size() - 2;
}

size_t stored_size(const Allocation &allocation)
{
    return written(allocation).size();
}

size_t stored_size(const Ticket &ticket)
{
    return written(ticket).size();
}

std::string_view beginning_of(std::string_view text, size_t most)
{
    constexpr size_t most_of_a_byte = escape_size + 1; // JSON doubles the backslash
    text = text.substr(0, most);
    for (size_t size = stored_size(text); size > most; size = stored_size(text))
        text.remove_suffix((size - most + most_of_a_byte - 1) / most_of_a_byte);
    return text;
}

} // namespace ogh
