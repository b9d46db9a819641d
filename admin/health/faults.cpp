// SPDX-License-Identifier: Apache-2.0
#include "health/faults.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace ogh::admin {

namespace {

using Evidence = Fault::Evidence;
using Kind = Sign::Kind;

/** More GPUs than a host has; a driver that says something of others is not to fill the memory. */
constexpr size_t max_faults = 256;
constexpr size_t max_reason = 200; ///< bytes, as --reason of the hooks has it

void add_fault(Memory &memory, Fault fault)
{
    const auto same = [&](const Fault &one) {
        return one.gpu == fault.gpu && one.evidence == fault.evidence;
    };
    const auto found = std::find_if(memory.faults.begin(), memory.faults.end(), same);
    if (found != memory.faults.end()) {
        fault.since = found->since;
        *found = std::move(fault);
    } else if (memory.faults.size() < max_faults) {
        memory.faults.push_back(std::move(fault));
    }
}

void set_over(Memory &memory, const LeaseKey &gpu, Evidence evidence, const Moment &now)
{
    for (Fault &fault : memory.faults) {
        if (fault.gpu == gpu && fault.evidence == evidence && !fault.over_ns)
            fault.over_ns = now.boottime_ns;
    }
}

bool is_ours(const Drain &drain, const LeaseKey &gpu)
{
    return drain.key == gpu && drain.by == drained_by_check;
}

nlohmann::ordered_json as_json(const Fault &fault)
{
    return {{"gpu", fault.gpu},
            {"text", fault.text},
            {"state", fault.evidence == Evidence::State},
            {"since", fault.since},
            {"over", fault.over_ns ? nlohmann::ordered_json(*fault.over_ns) : nlohmann::ordered_json()},
            {"drained", fault.is_drained},
            {"binding", fault.binding}};
}

Fault fault_of(const nlohmann::json &json)
{
    Fault fault;
    fault.gpu = json.at("gpu").get<std::string>();
    fault.text = json.at("text").get<std::string>();
    fault.evidence = json.at("state").get<bool>() ? Evidence::State : Evidence::Message;
    fault.since = json.at("since").get<std::int64_t>();
    if (!json.at("over").is_null())
        fault.over_ns = json.at("over").get<std::int64_t>();
    fault.is_drained = json.at("drained").get<bool>();
    fault.binding = json.at("binding").get<std::uint64_t>();
    return fault;
}

} // namespace

void apply(Memory &memory, const Sign &sign, const Moment &now)
{
    if (sign.kind == Kind::Failed)
        add_fault(memory, {Evidence::Message, sign.gpu, sign.text, now.unix_seconds});
    else if (sign.kind == Kind::Over)
        set_over(memory, sign.gpu, Evidence::Message, now);
}

void apply_state(Memory &memory, const LeaseKey &gpu, const std::optional<std::string> &text,
                 const Moment &now)
{
    if (!text)
        return set_over(memory, gpu, Evidence::State, now);
    const auto is_known = [&](const Fault &fault) {
        return fault.gpu == gpu && fault.evidence == Evidence::State && fault.text == *text && !fault.over_ns;
    };
    if (std::none_of(memory.faults.begin(), memory.faults.end(), is_known))
        add_fault(memory, {Evidence::State, gpu, *text, now.unix_seconds});
}

void apply_binding(Memory &memory, const LeaseKey &gpu, std::uint64_t binding, const Moment &now)
{
    for (Fault &fault : memory.faults) {
        if (fault.gpu != gpu || fault.evidence != Evidence::Message || fault.over_ns)
            continue;
        if (fault.binding == 0)
            fault.binding = binding;
        else if (fault.binding != binding)
            fault.over_ns = now.boottime_ns;
    }
}

void compare(Memory &memory, const std::vector<Drain> &drains)
{
    std::erase_if(memory.faults, [&](const Fault &fault) {
        return fault.is_drained ? std::none_of(drains.begin(), drains.end(),
                                               [&](const Drain &drain) { return is_ours(drain, fault.gpu); })
                                : fault.over_ns.has_value();
    });
    for (const Drain &drain : drains) {
        const auto is_its = [&](const Fault &fault) { return fault.gpu == drain.key; };
        if (drain.by == drained_by_check && std::none_of(memory.faults.begin(), memory.faults.end(), is_its))
            add_fault(memory, {Evidence::Message, drain.key, drain.reason, drain.since, {}, true});
    }
}

DrainChanges settle_drains(Memory &memory, std::int64_t settle_ns, const Moment &now)
{
    const auto lasts = [&](const Fault &fault) {
        return !fault.over_ns || now.boottime_ns - *fault.over_ns < settle_ns;
    };
    DrainChanges changes;
    for (Fault &fault : memory.faults) {
        const auto keeps = [&](const Fault &one) { return one.gpu == fault.gpu && lasts(one); };
        if (!fault.is_drained) {
            const std::string reason = fault.text.substr(0, max_reason);
            changes.drain.push_back({fault.gpu, fault.since, 0, reason, drained_by_check});
            fault.is_drained = true;
        } else if (std::none_of(memory.faults.begin(), memory.faults.end(), keeps)) {
            changes.undrain.push_back(fault.gpu);
        }
    }
    std::erase_if(memory.faults, [&](const Fault &fault) { return !lasts(fault); });
    return changes;
}

std::string to_text(const Memory &memory)
{
    nlohmann::ordered_json document = {
        {"boot", memory.boot}, {"next", memory.next}, {"faults", nlohmann::ordered_json::array()}};
    for (const Fault &fault : memory.faults)
        document["faults"].push_back(as_json(fault));
    return document.dump(-1, ' ', true) + "\n";
}

std::optional<Memory> parse_memory(std::string_view text)
{
    try {
        const auto document = nlohmann::json::parse(text);
        Memory memory{document.at("boot").get<std::string>(), document.at("next").get<std::uint64_t>(), {}};
        for (const auto &fault : document.at("faults"))
            memory.faults.push_back(fault_of(fault));
        return memory;
    } catch (const nlohmann::json::exception &) {
        return std::nullopt;
    }
}

} // namespace ogh::admin
