// SPDX-License-Identifier: Apache-2.0
#include "health/findings.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/utc_text.h"

namespace ogh::admin {

namespace {

using nlohmann::ordered_json;

std::optional<std::uint64_t> index_of(const CheckFindings &findings, const LeaseKey &gpu)
{
    const auto found = findings.gpus.find(gpu);
    return found == findings.gpus.end() ? std::nullopt : found->second;
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
        if (!fault.over_ns)
            faults.push_back(&fault);
    }
    return faults;
}

std::string fault_line(const CheckFindings &findings, const Fault &fault)
{
    const std::string gpu = std::string(vendor_in(fault.gpu)) + " " + label_of(findings, fault.gpu);
    if (fault.over_ns)
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
            {"over", fault.over_ns.has_value()},
            {"drained", fault.is_drained}};
}

} // namespace

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
    const int status = check_status(findings);
    ordered_json document = {{"status", status == status_failed          ? "failed"
                                        : status == status_not_looked_at ? "not looked at"
                                                                         : "nothing found"},
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

int check_status(const CheckFindings &findings)
{
    if (!failed(findings).empty())
        return status_failed;
    return findings.not_looked_at.empty() ? 0 : status_not_looked_at;
}

int npd_status(const CheckFindings &findings)
{
    const int status = check_status(findings);
    return status == status_failed ? npd_problem : status == status_not_looked_at ? npd_unknown : npd_ok;
}

} // namespace ogh::admin
