// SPDX-License-Identifier: Apache-2.0
#include "health/faults.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/duration.h"

namespace ogh::admin {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Fault, evidence, gpu, text, since, over_ns, is_drained, binding)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Memory, boot, next, faults)

namespace {

using Evidence = Fault::Evidence;
using Kind = Sign::Kind;

/** More GPUs than a host has; a driver that says something of others is not to fill the memory. */
constexpr size_t max_faults = 256;
constexpr size_t max_reason = 200; ///< bytes, as --drain of the hooks has it

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
        if (fault.gpu == gpu && fault.evidence == evidence && fault.over_ns == 0)
            fault.over_ns = now.boottime_ns;
    }
}

bool is_ours(const Drain &drain, const LeaseKey &gpu)
{
    return drain.key == gpu && drain.by == drained_by_check;
}

using nlohmann::ordered_json;

std::optional<std::uint64_t> index_of(const CheckFindings &findings, const LeaseKey &gpu)
{
    const auto found = findings.gpus.find(gpu);
    return found == findings.gpus.end() ? std::nullopt : std::optional(found->second);
}

/** "GPU 0 (0000:18:00.0)", or "GPU 0000:18:00.0" of one that has no number. */
std::string label_of(const CheckFindings &findings, const LeaseKey &gpu)
{
    const auto index = index_of(findings, gpu);
    const std::string address(address_in(gpu));
    return "GPU " + (index ? std::to_string(*index) + " (" + address + ")" : address);
}

std::vector<const Fault *> failed(const CheckFindings &findings)
{
    std::vector<const Fault *> faults;
    for (const Fault &fault : findings.faults) {
        if (fault.over_ns == 0)
            faults.push_back(&fault);
    }
    return faults;
}

std::string fault_line(const CheckFindings &findings, const Fault &fault)
{
    const std::string gpu = std::string(vendor_in(fault.gpu)) + " " + label_of(findings, fault.gpu);
    if (fault.over_ns != 0)
        return gpu + " is well again, and is given again after a while: " + fault.text + "\n";
    return gpu + " has failed: " + fault.text + ", since " + utc_text(fault.since) +
           (fault.is_drained ? "; it is drained\n" : "; it is not drained\n");
}

std::string summary(const CheckFindings &findings)
{
    const size_t bad = failed(findings).size();
    return std::to_string(findings.gpus.size()) + (findings.gpus.size() == 1 ? " GPU" : " GPUs") + ": " +
           (bad != 0                         ? std::to_string(bad) + (bad == 1 ? " fault" : " faults")
            : findings.not_looked_at.empty() ? "nothing found"
                                             : "nothing found where it could be looked") +
           "\n";
}

ordered_json as_json(const CheckFindings &findings, const Fault &fault)
{
    const auto index = index_of(findings, fault.gpu);
    return {{"vendor", vendor_in(fault.gpu)},
            {"address", address_in(fault.gpu)},
            {"index", index ? ordered_json(*index) : ordered_json()},
            {"text", fault.text},
            {"since", utc_text(fault.since)},
            {"over", fault.over_ns != 0},
            {"drained", fault.is_drained}};
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
        return fault.gpu == gpu && fault.evidence == Evidence::State && fault.text == *text &&
               fault.over_ns == 0;
    };
    if (std::none_of(memory.faults.begin(), memory.faults.end(), is_known))
        add_fault(memory, {Evidence::State, gpu, *text, now.unix_seconds});
}

void apply_binding(Memory &memory, const LeaseKey &gpu, std::uint64_t binding, const Moment &now)
{
    for (Fault &fault : memory.faults) {
        if (fault.gpu != gpu || fault.evidence != Evidence::Message || fault.over_ns != 0)
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
                                : fault.over_ns != 0;
    });
    for (const Drain &drain : drains) {
        const auto is_its = [&](const Fault &fault) { return fault.gpu == drain.key; };
        if (drain.by == drained_by_check && std::none_of(memory.faults.begin(), memory.faults.end(), is_its))
            add_fault(memory, {Evidence::Message, drain.key, drain.reason, drain.since, 0, true});
    }
}

DrainChanges settle_drains(Memory &memory, std::int64_t settle_ns, const Moment &now)
{
    const auto lasts = [&](const Fault &fault) {
        return fault.over_ns == 0 || now.boottime_ns - fault.over_ns < settle_ns;
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
    return nlohmann::json(memory).dump(-1, ' ', true) + "\n";
}

std::optional<Memory> parse_memory(std::string_view text)
{
    try {
        return nlohmann::json::parse(text).get<Memory>();
    } catch (const nlohmann::json::exception &) {
        return std::nullopt;
    }
}

std::string to_text(const CheckFindings &findings)
{
    std::string text;
    for (const Fault &fault : findings.faults)
        text += fault_line(findings, fault);
    for (const auto &[report, count] : findings.reports)
        text += std::string(vendor_in(report.first)) + " " + label_of(findings, report.first) + ": " +
                report.second + (count == 1 ? "" : ", " + std::to_string(count) + " times") + "\n";
    for (const std::string &note : findings.notes)
        text += "note: " + note + "\n";
    for (const std::string &what : findings.not_looked_at)
        text += "not looked at: " + what + "\n";
    return text + summary(findings);
}

std::string to_json(const CheckFindings &findings)
{
    ordered_json document = {{"status", verdict_of(findings).word},
                             {"gpus", findings.gpus.size()},
                             {"faults", ordered_json::array()},
                             {"reports", ordered_json::array()},
                             {"notes", findings.notes},
                             {"not_looked_at", findings.not_looked_at}};
    for (const Fault &fault : findings.faults)
        document["faults"].push_back(as_json(findings, fault));
    for (const auto &[report, count] : findings.reports)
        document["reports"].push_back({{"vendor", vendor_in(report.first)},
                                       {"address", address_in(report.first)},
                                       {"text", report.second},
                                       {"count", count}});
    return document.dump(2, ' ', true) + "\n";
}

std::string npd_line(std::string text)
{
    constexpr size_t most = 80;
    constexpr unsigned char no_ascii = 0x80;
    std::replace_if(
        text.begin(), text.end(), [](unsigned char letter) { return letter < ' ' || letter >= no_ascii; },
        '?');
    return text.substr(0, most) + "\n";
}

std::string to_npd_line(const CheckFindings &findings)
{
    const auto faults = failed(findings);
    if (!faults.empty())
        return npd_line((faults.size() == 1 ? "" : std::to_string(faults.size()) + " faults, ") +
                        label_of(findings, faults.front()->gpu) + ": " + faults.front()->text);
    if (!findings.not_looked_at.empty())
        return npd_line("not looked at: " + findings.not_looked_at.front());
    std::string line = summary(findings);
    line.pop_back();
    return npd_line(std::move(line));
}

const Verdict &verdict_of(const CheckFindings &findings)
{
    if (!failed(findings).empty())
        return has_failed;
    return findings.not_looked_at.empty() ? nothing_found : not_looked_at;
}

} // namespace ogh::admin
