// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_fields.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/number.h"
#include "base/text.h"

namespace ogh {

namespace {

constexpr auto most_time = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

/** What stands in the file for one of two values. */
struct LeaseChoice {
    std::string_view yes, no;
};
constexpr LeaseChoice exclusive_or_shared = {"exclusive", "shared"};
constexpr LeaseChoice own_or_joined = {"own", "joined"}; ///< the pid namespace

std::string_view word_of(const LeaseChoice &choice, bool value)
{
    return value ? choice.yes : choice.no;
}

void add_mode(LeaseLine &line, LeaseMode mode)
{
    line.add("mode", word_of(exclusive_or_shared, mode == LeaseMode::Exclusive));
}

bool either(LeaseWords &words, const LeaseChoice &choice, const char *name)
{
    const std::string_view word = words.word(name);
    if (word != choice.yes && word != choice.no)
        words.refuse(name);
    return word == choice.yes;
}

LeaseMode take_mode(LeaseWords &words)
{
    return either(words, exclusive_or_shared, "mode") ? LeaseMode::Exclusive : LeaseMode::Shared;
}

constexpr const char *quotas_name = "quotas";
constexpr const char *max_sharers_name = "max-sharers";
constexpr const char *hold_until_name = "hold-until";
constexpr const char *grace_name = "hold-grace";
constexpr const char *stop_signal_name = "stop-signal";
constexpr const char *asked_name = "stop-sent";
constexpr const char *others_cpu_name = "others-cpu";
constexpr std::uint64_t most_signal = 64; ///< of Linux
constexpr const char *begun_name = "begun";
constexpr const char *idle_name = "idle-since";
constexpr const char *rules_name = "rules";
constexpr const char *taker_name = "taker";
constexpr const char *taker_start_name = "taker-start";
constexpr const char *watches_name = "watches";
constexpr const char *quick_ends_name = "quick-ends";
constexpr std::uint64_t most_number = std::numeric_limits<unsigned>::max();

/** "NUMBER:NAME". */
Quota quota_of(std::string text, const LeaseWords &words)
{
    const size_t end = std::min(text.find(':'), text.size());
    const auto most = parse_small_number(std::string_view(text).substr(0, end), most_number);
    if (!most || text.front() == '0' || end + 1 >= text.size())
        words.refuse(quotas_name);
    text.erase(0, end + 1);
    return {std::move(text), *most};
}

/** "c:195:0:rw" */
std::string text_of(const DeviceRule &rule)
{
    return std::string(rule.type == DeviceRule::Type::Char ? "c:" : "b:") + std::to_string(rule.major) + ":" +
           std::to_string(rule.minor) + ":" + access_text(rule.access);
}

DeviceRule rule_of(const std::string &text, const LeaseWords &words)
{
    DeviceRule rule;
    const std::vector<std::string> parts = split_list(text, ':');
    const auto number = [&](size_t place) {
        return parts.size() == 4 ? parse_small_number(parts[place], most_number) : std::nullopt;
    };
    if (!number(1) || !number(2))
        words.refuse(rules_name);
    rule = {parts[0] == "b" ? DeviceRule::Type::Block : DeviceRule::Type::Char, *number(1), *number(2), 0};
    for (const unsigned access : {access_read, access_write, access_mknod})
        rule.access |= parts[3].find(access_text(access)) != std::string::npos ? access : 0;
    if (rule.access == 0 || text_of(rule) != text)
        words.refuse(rules_name);
    return rule;
}

void add_rules(LeaseLine &line, const DeviceRules &rules)
{
    std::vector<std::string> texts;
    texts.reserve(rules.size());
    for (const DeviceRule &rule : rules)
        texts.push_back(text_of(rule));
    line.add(rules_name, texts);
}

} // namespace

void add_fields(LeaseLine &line, const LeasedDevice &device)
{
    add_mode(line, device.mode);
    line.add("key", device.key);
}

void add_fields(LeaseLine &line, const Demand &demand)
{
    add_mode(line, demand.mode);
    line.add("fixed", demand.fixed);
    line.add("any", std::uint64_t{demand.any});
    line.add("candidates", demand.candidates);
}

void add_fields(LeaseLine &line, const Holder &holder, std::string_view program)
{
    const OwnCgroup cgroup = holder.cgroup.value_or(OwnCgroup());
    line.add("pid", static_cast<std::uint64_t>(holder.init.pid));
    line.add("start", holder.init.start_time);
    line.add("pid-namespace", word_of(own_or_joined, holder.own_pid_namespace));
    line.add("inode", cgroup.inode);
    line.add("controller", cgroup.controller);
    line.add("cgroup", cgroup.path);
    line.add("container", holder.container);
    line.add("program", program);
}

void add_limits(LeaseLine &line, const Quotas &quotas, const std::optional<unsigned> &max_sharers)
{
    std::vector<std::string> texts;
    texts.reserve(quotas.size());
    for (const Quota &quota : quotas)
        texts.push_back(std::to_string(quota.most) + ":" + quota.name);
    if (!texts.empty())
        line.add(quotas_name, texts);
    if (max_sharers)
        line.add(max_sharers_name, std::uint64_t{*max_sharers});
}

void take_limits(LeaseWords &words, Quotas &quotas, std::optional<unsigned> &max_sharers)
{
    if (words.next_is(quotas_name)) {
        for (std::string &text : words.list(quotas_name)) {
            Quota quota = quota_of(std::move(text), words);
            if (!quotas.empty() && quota.name <= quotas.back().name)
                words.refuse(quotas_name);
            quotas.push_back(std::move(quota));
        }
        if (quotas.empty())
            words.refuse(quotas_name);
    }
    if (words.next_is(max_sharers_name)) {
        max_sharers = static_cast<unsigned>(words.number(max_sharers_name, most_number));
        if (*max_sharers == 0)
            words.refuse(max_sharers_name);
    }
}

void add_endings(LeaseLine &line, const Allocation &allocation)
{
    if (allocation.limit) {
        line.add(hold_until_name, time_word(allocation.limit->until_ns));
        line.add(grace_name, time_word(allocation.limit->grace_ns));
        line.add(stop_signal_name, static_cast<std::uint64_t>(allocation.limit->signal));
        if (allocation.limit->asked_ns)
            line.add(asked_name, time_word(*allocation.limit->asked_ns));
    }
    if (allocation.others_cpu_ns)
        line.add(others_cpu_name, *allocation.others_cpu_ns);
    if (allocation.has_begun)
        line.add(begun_name, "yes");
    if (allocation.idle_ns != 0)
        line.add(idle_name, time_word(allocation.idle_ns));
    if (allocation.rules)
        add_rules(line, *allocation.rules);
    if (allocation.taker) {
        line.add(taker_name, static_cast<std::uint64_t>(allocation.taker->pid));
        line.add(taker_start_name, allocation.taker->start_time);
    }
}

void take_endings(LeaseWords &words, Allocation &allocation)
{
    if (words.next_is(hold_until_name)) {
        HoldLimit &limit = allocation.limit.emplace();
        limit.until_ns = take_time(words, hold_until_name);
        limit.grace_ns = take_time(words, grace_name);
        limit.signal = static_cast<int>(words.number(stop_signal_name, most_signal));
        if (words.next_is(asked_name))
            limit.asked_ns = take_time(words, asked_name);
    }
    if (words.next_is(others_cpu_name))
        allocation.others_cpu_ns = words.number(others_cpu_name);
    allocation.has_begun = words.next_is(begun_name);
    if (allocation.has_begun && words.word(begun_name) != "yes")
        words.refuse(begun_name);
    if (words.next_is(idle_name) && (allocation.idle_ns = take_time(words, idle_name)) == 0)
        words.refuse(idle_name);
    if (words.next_is(rules_name)) {
        DeviceRules &rules = allocation.rules.emplace();
        for (const std::string &text : words.list(rules_name))
            rules.push_back(rule_of(text, words));
    }
    if (words.next_is(taker_name))
        allocation.taker = take_process(words, taker_name, taker_start_name);
}

std::vector<std::string> watched_words(const Watched &watched)
{
    std::vector<std::string> texts;
    for (const std::uint64_t ticket : watched.tickets)
        texts.push_back(std::to_string(ticket));
    for (const ProcessId &init : watched.holders)
        texts.push_back(std::to_string(init.pid) + ":" + std::to_string(init.start_time));
    if (watched.drain_ns != 0)
        texts.push_back(":" + std::to_string(watched.drain_ns));
    return texts;
}

void add_watched(LeaseLine &line, const std::optional<Watched> &watched)
{
    if (watched)
        line.add(watches_name, watched_words(*watched));
}

std::optional<Watched> take_watched(LeaseWords &words)
{
    if (!words.next_is(watches_name))
        return std::nullopt;
    Watched watched;
    const std::vector<std::string> texts = words.list(watches_name);
    for (const std::string_view text : texts) {
        const size_t end = std::min(text.find(':'), text.size());
        const auto number = parse_number(text.substr(0, end));
        const auto start = parse_number(text.substr(std::min(end + 1, text.size())));
        if (number && end == text.size())
            watched.tickets.insert(*number);
        else if (number && start && *number != 0 && *number <= std::numeric_limits<pid_t>::max())
            watched.holders.insert({static_cast<pid_t>(*number), *start});
        else if (end == 0 && start && *start <= most_time)
            watched.drain_ns = static_cast<std::int64_t>(*start);
    }
    // What is no number, or not in its order, would be written otherwise.
    if (watched_words(watched) != texts)
        words.refuse(watches_name);
    return watched;
}

void add_quick_ends(LeaseLine &line, const std::vector<std::uint64_t> &containers)
{
    std::vector<std::string> texts;
    texts.reserve(containers.size());
    for (const std::uint64_t container : containers)
        texts.push_back(std::to_string(container));
    line.add(quick_ends_name, texts);
}

std::vector<std::uint64_t> take_quick_ends(LeaseWords &words)
{
    std::vector<std::uint64_t> containers;
    if (!words.next_is(quick_ends_name))
        return containers;
    for (const std::string &text : words.list(quick_ends_name)) {
        const auto container = parse_number(text);
        if (!container || std::to_string(*container) != text)
            words.refuse(quick_ends_name);
        containers.push_back(*container);
    }
    if (containers.empty())
        words.refuse(quick_ends_name);
    return containers;
}

std::uint64_t time_word(std::int64_t time)
{
    return static_cast<std::uint64_t>(std::max(time, std::int64_t{0}));
}

std::int64_t take_time(LeaseWords &words, const char *name)
{
    return static_cast<std::int64_t>(words.number(name, most_time));
}

LeaseKey take_key(LeaseWords &words)
{
    LeaseKey key = words.text("key");
    if (key.empty())
        words.refuse("key");
    return key;
}

ProcessId take_process(LeaseWords &words, const char *name, const char *start)
{
    const std::uint64_t pid = words.number(name, std::numeric_limits<pid_t>::max());
    if (pid == 0)
        words.refuse(name);
    return {static_cast<pid_t>(pid), words.number(start)};
}

Holder take_holder(LeaseWords &words)
{
    Holder holder{take_process(words, "pid", "start"), either(words, own_or_joined, "pid-namespace")};
    const std::uint64_t inode = words.number("inode");
    OwnCgroup cgroup{words.text("controller"), words.text("cgroup"), inode};
    if (!cgroup.path.empty())
        holder.cgroup = std::move(cgroup);
    else if (inode != 0 || !cgroup.controller.empty())
        words.refuse("cgroup");
    holder.container = words.text("container");
    holder.program = words.text("program");
    return holder;
}

LeasedDevice take_device(LeaseWords &words)
{
    const LeaseMode mode = take_mode(words);
    return {take_key(words), mode};
}

Demand take_demand(LeaseWords &words)
{
    Demand demand;
    demand.mode = take_mode(words);
    demand.fixed = words.list("fixed");
    demand.any = static_cast<unsigned>(words.number("any", std::numeric_limits<unsigned>::max()));
    demand.candidates = words.list("candidates");
    return demand;
}

} // namespace ogh
