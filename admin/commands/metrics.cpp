// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/utc_text.h"
#include "commands/command.h"
#include "commands/history_events.h"
#include "history/history.h"
#include "lease/boot_clock.h"

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
    for (const char *const state : {"drained", "exclusive", "shared"}) {
        if (lease.starts_with(state))
            return state;
    }
    return text_member(row, "state").empty() ? "free" : "unavailable";
}

/** Each hook once, whichever of the ways in which engines call it comes first. */
std::vector<json> lists_of(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::set<std::string> seen;
    std::vector<json> lists;
    const json all = json::parse(lists_as_json(sysroot));
    for (const json &list : all.at("hooks")) {
        if (list.contains("gpus") && seen.insert(text_member(list, "hook")).second)
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
        std::map<std::string, double> counts{{"free", 0},    {"shared", 0}, {"exclusive", 0},
                                             {"drained", 0}, {"dead", 0},   {"unavailable", 0}};
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
            const std::string state = text_member(row, "state") == "waiting" ? "waiting" : "held";
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
const char *reason_of(double status)
{
    constexpr std::array reasons{"failure", "failure", "usage",      "not available",
                                 "busy",    "denied",  "broken host"};
    return status >= 1 && status < static_cast<double>(reasons.size())
               ? reasons.at(static_cast<size_t>(status))
               : "failure";
}

void add_waits(Exposition &to, const std::vector<json> &events)
{
    constexpr std::array bounds{0.1, 1.0, 10.0, 60.0, 600.0, 3600.0};
    const std::string name = "oci_gpu_hooks_wait_seconds";
    to.begin(name, "histogram", "How long containers waited that were granted GPUs.");
    std::map<double, double> counts;
    double count = 0;
    double sum = 0;
    for (const json &event : events) {
        if (text_member(event, "event") != "granted")
            continue;
        const double waited = event_number(event, "waited");
        for (const double bound : bounds)
            counts[bound] += waited <= bound ? 1 : 0;
        ++count;
        sum += waited;
    }
    for (const double bound : bounds) {
        std::ostringstream text;
        text << bound;
        to.add(name + "_bucket", {{"le", text.str()}}, counts[bound]);
    }
    to.add(name + "_bucket", {{"le", "+Inf"}}, count);
    to.add(name + "_sum", {}, sum);
    to.add(name + "_count", {}, count);
}

/** @param events of this boot */
void add_counters(Exposition &to, const std::vector<json> &events)
{
    double grants = 0;
    double takeovers = 0;
    std::map<std::pair<std::string, std::string>, double> refusals;
    std::map<std::string, double> seconds{{"amd", 0}, {"nvidia", 0}};
    for (const json &event : events) {
        const std::string kind = text_member(event, "event");
        grants += kind == "granted" ? 1 : 0;
        takeovers += text_member(event, "how").starts_with("preempted") ? 1 : 0;
        if (kind == "refused")
            ++refusals[{text_member(event, "hook"), reason_of(event_number(event, "status"))}];
        for (const std::string &gpu : gpus_of(event)) {
            if (kind == "ended" && seconds.contains(vendor_of(gpu)))
                seconds[vendor_of(gpu)] += event_number(event, "seconds");
        }
    }
    to.begin("oci_gpu_hooks_grants_total", "counter", "Leases that were given.");
    to.add("oci_gpu_hooks_grants_total", {}, grants);
    to.begin("oci_gpu_hooks_takeovers_total", "counter", "Containers that were ended for another one.");
    to.add("oci_gpu_hooks_takeovers_total", {}, takeovers);
    to.begin("oci_gpu_hooks_gpu_seconds_total", "counter",
             "Seconds of one GPU or a part of one that leases have had which have ended.");
    for (const auto &[vendor, sum] : seconds)
        to.add("oci_gpu_hooks_gpu_seconds_total", {{"vendor", vendor}}, sum);
    if (!refusals.empty())
        to.begin("oci_gpu_hooks_refusals_total", "counter", "Containers that a hook has refused.");
    for (const auto &[why, count] : refusals)
        to.add("oci_gpu_hooks_refusals_total", {{"hook", why.first}, {"reason", why.second}}, count);
    add_waits(to, events);
}

/** Nothing where there is no history. */
std::vector<json> events_of_boot(const Sysroot &sysroot, const std::string &path)
{
    const std::string boot = utc_text(::time(nullptr) - boottime_ns() / 1'000'000'000);
    std::vector<json> events;
    try {
        events = read_events(sysroot, path);
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::NotAvailable)
            throw;
    }
    std::erase_if(events, [&](const json &event) { return text_member(event, "time") < boot; });
    return events;
}

} // namespace

int metrics(int argc, const char *const *argv)
{
    CommandOptions options;
    std::string file = default_history;
    CommandLine cli("oci-gpu-hooks metrics", "Who has which GPU in numbers, for Prometheus.", page);
    cli.add({"--file", "FILE", "What the hooks have for --history (default: /var/lib/oci-gpu-hooks/history)"},
            file);
    if (!parse(cli, options, argc, argv))
        return EXIT_SUCCESS;
    const auto sysroot = options.open();
    const auto lists = lists_of(sysroot);
    Exposition exposition;
    add_gpus(exposition, lists);
    add_leases(exposition, lists);
    add_counters(exposition, events_of_boot(*sysroot, file));
    print(exposition.text());
    return EXIT_SUCCESS;
}

} // namespace ogh::admin
