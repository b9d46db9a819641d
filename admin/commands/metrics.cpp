// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "build_config.h"
#include "commands/command.h"
#include "lease/leases.h"
#include "lease/waiting/lease_store.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

/** Names of labels with their values, in this order. */
using Labels = std::vector<std::pair<const char *, std::string>>;

/** The text format 0.0.4 of Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/ */
class Exposition final {
public:
    void begin(const std::string &name, const char *type, const char *help)
    {
        text_ += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
    }

    void add(const std::string &name, const Labels &labels, double value)
    {
        text_ += name;
        char before = '{';
        for (const auto &[label, label_value] : labels) {
            text_ += before + std::string(label) + "=\"" + escaped(label_value) + '"';
            before = ',';
        }
        text_ += labels.empty() ? " " : "} ";
        std::ostringstream number;
        number.precision(15);
        number << value;
        text_ += number.str() + "\n";
    }

    [[nodiscard]] const std::string &text() const { return text_; }

private:
    static std::string escaped(const std::string &value)
    {
        std::string text;
        for (const char letter : value) {
            if (letter == '\\' || letter == '"')
                text += '\\';
            text += letter == '\n' ? std::string("\\n") : std::string(1, letter);
        }
        return text;
    }

    std::string text_;
};

std::string vendor_of(const std::string &name)
{
    return name.substr(0, name.find_first_of("-:"));
}

const char *state_of_gpu(const json &row)
{
    if (text_member(row, "state").starts_with("looks dead"))
        return "dead";
    const std::string lease = text_member(row, "lease");
    for (const char *const state : {"drained", "exclusive", "shared", "kept"}) {
        if (lease.starts_with(state))
            return state;
    }
    return text_member(row, "state").empty() ? "free" : "unavailable";
}

/** Of a lease or an event: that it is none. */
bool is_observers(const json &event)
{
    return text_member(event, "lease") == observers_lease;
}

/** Each hook once, whichever of the ways in which engines call it comes first. */
std::vector<json> lists_of(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::set<std::string> seen;
    std::vector<json> lists;
    const json all = json::parse(lists_as_json(sysroot));
    for (const json &list : all.at("hooks")) {
        if (!list.contains("gpus") || !seen.insert(text_member(list, "hook")).second)
            continue;
        if (!list.contains("leases")) // and then nobody knows which are free
            throw Error(ErrorKind::BrokenHost, text_member(list, "hook") + ": " + text_member(list, "error"));
        lists.push_back(list);
    }
    return lists;
}

/** Whole GPUs alone: a partition has no number. */
void add_gpus(Exposition &to, const std::vector<json> &lists)
{
    const std::string name = "oci_gpu_hooks_gpus";
    to.begin(name, "gauge", "GPUs of this host, by what they are now.");
    for (const json &list : lists) {
        std::map<std::string, double> counts{{"free", 0},    {"kept", 0}, {"shared", 0},     {"exclusive", 0},
                                             {"drained", 0}, {"dead", 0}, {"unavailable", 0}};
        for (const json &row : list.at("gpus")) {
            if (!row.at("index").is_null())
                ++counts[state_of_gpu(row)];
        }
        for (const auto &[state, count] : counts)
            to.add(name, {{"vendor", vendor_of(text_member(list, "hook"))}, {"state", state}}, count);
    }
}

/** What whoever starts containers can choose makes no more than so many series. */
void add_leases(Exposition &to, const std::vector<json> &lists)
{
    constexpr size_t most = 50;
    const std::string name = "oci_gpu_hooks_leases";
    to.begin(name, "gauge",
             "Containers that have GPUs or wait for some, by what they ask by and whose they are.");
    std::map<std::array<std::string, 4>, double> counts;
    for (const json &list : lists) {
        for (const json &row : list.at("leases")) {
            const std::string state = text_member(row, "state") == "waiting" ? "waiting"
                                      : is_observers(row)                    ? "observed"
                                                                             : "held";
            std::array<std::string, 4> labels{vendor_of(text_member(list, "hook")), state,
                                              text_member(row, "asker"), text_member(row, "user")};
            if (counts.size() >= most && !counts.contains(labels))
                labels[2] = labels[3] = "other";
            ++counts[labels];
        }
    }
    for (const auto &[labels, count] : counts)
        to.add(name, {{"vendor", labels[0]}, {"state", labels[1]}, {"asker", labels[2]}, {"user", labels[3]}},
               count);
}

/** What an exit status of a hook means; see oci-gpu-hooks(7). */
constexpr std::array<const char *, exit_statuses> reasons{nullptr, "failure", "usage",      "not available",
                                                          "busy",  "denied",  "broken host"};

double seconds_of(std::uint64_t ns)
{
    return static_cast<double>(ns) / 1e9;
}

void add_waits(Exposition &to, const LeaseCounts &counts)
{
    const std::string name = "oci_gpu_hooks_wait_seconds";
    to.begin(name, "histogram", "How long containers waited that were granted GPUs.");
    std::uint64_t so_far = 0;
    for (size_t i = 0; i < LeaseCounts::wait_bounds_s.size(); ++i) {
        so_far += counts.waits.at(i);
        std::ostringstream bound;
        bound << LeaseCounts::wait_bounds_s.at(i);
        to.add(name + "_bucket", {{"le", bound.str()}}, static_cast<double>(so_far));
    }
    to.add(name + "_bucket", {{"le", "+Inf"}}, static_cast<double>(counts.grants));
    to.add(name + "_sum", {}, seconds_of(counts.waited_ns));
    to.add(name + "_count", {}, static_cast<double>(counts.grants));
}

void add_counters(Exposition &to, const LeaseCounts &counts)
{
    const auto add = [&](const std::string &name, const char *help, std::uint64_t count) {
        to.begin(name, "counter", help);
        to.add(name, {}, static_cast<double>(count));
    };
    add("oci_gpu_hooks_grants_total", "Leases that were given.", counts.grants);
    add("oci_gpu_hooks_takeovers_total", "Containers that were ended for another one.", counts.takeovers);
    add("oci_gpu_hooks_taken_away_total",
        "Containers whose GPUs were taken away for another one, and that live on.", counts.revocations);
    to.begin("oci_gpu_hooks_gpu_seconds_total", "counter",
             "Seconds of one device, a GPU or a part of one, that leases have had.");
    for (size_t i = 0; i < LeaseCounts::vendors.size(); ++i)
        to.add("oci_gpu_hooks_gpu_seconds_total", {{"vendor", std::string(LeaseCounts::vendors.at(i))}},
               seconds_of(counts.device_ns.at(i)));
    add_waits(to, counts);
}

/** Each of each hook, whether there has been one or not. */
void add_refusals(Exposition &to, Refusals refusals)
{
    to.begin("oci_gpu_hooks_refusals_total", "counter", "Containers that a hook has refused.");
    for (const std::string hook : {OGH_HOOK_NAMES}) {
        for (size_t status = 1; status < reasons.size(); ++status)
            to.add("oci_gpu_hooks_refusals_total", {{"hook", hook}, {"reason", reasons.at(status)}},
                   static_cast<double>(refusals[hook].at(status)));
    }
}

} // namespace

int metrics(CommandLine & /*cli*/, Invocation &call)
{
    if (!call.parse())
        return EXIT_SUCCESS;
    const auto sysroot = call.open();
    const auto lists = lists_of(sysroot);
    Exposition exposition;
    add_gpus(exposition, lists);
    add_leases(exposition, lists);
    add_counters(exposition, Leases::counts(*sysroot));
    add_refusals(exposition, read_refusals(*sysroot));
    print(exposition.text());
    return EXIT_SUCCESS;
}

} // namespace ogh::admin
