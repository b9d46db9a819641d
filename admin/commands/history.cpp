// SPDX-License-Identifier: Apache-2.0
#include "history/history.h"

#include <cstdlib>
#include <ctime>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/duration.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/table.h"
#include "base/text.h"
#include "commands/command.h"
#include "host/host_file.h"
#include "host/sysroot.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

/** The events of one file, oldest first; a line that is none is passed over. */
void add_events(const std::string &text, std::vector<json> &events)
{
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        json event = json::parse(line, nullptr, false);
        if (event.is_object())
            events.push_back(std::move(event));
    }
}

/** What a container was called when it was granted its GPUs is told of its end as well. */
void name_ends(std::vector<json> &events)
{
    std::map<std::string, json> grants;
    for (json &event : events) {
        const std::string container = text_member(event, "container");
        if (text_member(event, "event") == "granted")
            grants[container] = event;
        const auto grant = grants.find(container);
        if (grant == grants.end() || text_member(event, "event") != "ended")
            continue;
        for (const char *const name : {"name", "image", "user", "asker"}) {
            if (grant->second.contains(name))
                event[name] = grant->second[name];
        }
    }
}

std::vector<std::string> gpus_of(const json &event)
{
    return event.value("gpus", std::vector<std::string>());
}

/**
 * The events of a history and of the one before it, oldest first. An end has the names of its container too.
 * @throws Error (NotAvailable) if there is none; BrokenHost if it cannot be read
 */
std::vector<json> read_events(const Sysroot &sysroot, const std::string &path)
{
    constexpr size_t most = 2 * max_history;
    std::vector<json> events;
    const auto older = read_host_file(sysroot, path + ".1", most);
    const auto newer = read_host_file(sysroot, path, most);
    if (!older && !newer)
        throw Error(ErrorKind::NotAvailable, "there is no history " + quote(path) +
                                                 ": nothing was asked of the hooks so far, or they are told "
                                                 "'--history none' or another FILE");
    add_events(older.value_or(""), events);
    add_events(newer.value_or(""), events);
    name_ends(events);
    return events;
}

struct HistoryOptions {
    std::string file = default_history;
    std::optional<std::string> since;
    std::optional<std::string> gpu;
    std::optional<std::string> by;
    bool refused = false;
    bool as_json = false;
};

/** The text of a time that long ago: times are compared as texts. */
std::string time_before(const std::string &text)
{
    constexpr unsigned most_days = 3650;
    const auto days =
        text.ends_with('d') ? parse_small_number(text.substr(0, text.size() - 1), most_days) : std::nullopt;
    const auto duration = days ? std::chrono::seconds(std::chrono::hours(24) * *days) : parse_duration(text);
    if (!duration)
        throw Error(ErrorKind::Usage,
                    "--since takes a time such as '90s', '5m', '2h' or '2d', and not " + quote(text));
    return utc_text(::time(nullptr) - duration->count());
}

/** What leases call the GPUs that are meant: an address, or a number of each vendor's list. */
std::vector<std::string> addresses_of(const std::shared_ptr<const Sysroot> &sysroot, const std::string &gpu)
{
    const auto number = parse_number(gpu);
    if (!number)
        return {gpu};
    std::vector<std::string> addresses;
    for (const auto &[key, index] : numbered_gpus(sysroot))
        if (index == *number)
            addresses.emplace_back(address_in(key));
    if (addresses.empty())
        throw Error(ErrorKind::NotAvailable, "this host has no GPU " + quote(gpu));
    return addresses;
}

/** Whether it had one of these, or a part of one. */
bool had_one(const json &event, const std::vector<std::string> &addresses)
{
    for (const std::string &gpu : gpus_of(event)) {
        const std::string whole = gpu.substr(0, gpu.find('/'));
        for (const std::string &address : addresses) {
            if (gpu == address || whole == address || whole.ends_with(":" + address))
                return true;
        }
    }
    return false;
}

std::string hundredths(double number)
{
    std::ostringstream text;
    text.precision(2);
    text << std::fixed << number;
    return text.str();
}

std::string event_table(const std::vector<json> &events)
{
    Table table{{"TIME", "EVENT", "CONTAINER", "USER", "ASKER", "GPUS", "SECONDS", "WHAT"}};
    for (const json &event : events) {
        const std::string kind = text_member(event, "event");
        const std::string name = text_member(event, "name");
        const std::string what =
            text_member(event, "reason") + text_member(event, "how") + text_member(event, "lease");
        table.push_back(
            {text_member(event, "time"), kind,
             name.empty() ? short_container(text_member(event, "container")) : name,
             text_member(event, "user"), text_member(event, "asker"), list_text(gpus_of(event)),
             kind == "refused" ? "" : hundredths(event.value(kind == "granted" ? "waited" : "seconds", 0.0)),
             kind == "refused" ? text_member(event, "hook") + ": " + what : what});
    }
    return ogh::to_text(table);
}

/** Of one key, user or image. */
struct Sum {
    unsigned granted = 0;
    unsigned refused = 0;
    double waited = 0;      ///< seconds
    double gpu_seconds = 0; ///< of those that have ended
};

std::string as_sums(const std::vector<json> &events, const std::string &by)
{
    std::map<std::string, Sum> sums;
    for (const json &event : events) {
        Sum &sum = sums[text_member(event, by == "key" ? "asker" : by.c_str())];
        const std::string kind = text_member(event, "event");
        sum.granted += kind == "granted" ? 1U : 0U;
        sum.refused += kind == "refused" ? 1U : 0U;
        sum.waited += event.value("waited", 0.0);
        sum.gpu_seconds += event.value("seconds", 0.0) * static_cast<double>(gpus_of(event).size());
    }
    Table table{{by == "key"    ? "KEY"
                 : by == "user" ? "USER"
                                : "IMAGE",
                 "GRANTED", "REFUSED", "WAITED", "GPU-HOURS"}};
    for (const auto &[name, sum] : sums)
        table.push_back({name.empty() ? "-" : name, std::to_string(sum.granted), std::to_string(sum.refused),
                         hundredths(sum.waited), hundredths(sum.gpu_seconds / 3600)});
    return ogh::to_text(table);
}

void print_history(const std::shared_ptr<const Sysroot> &sysroot, const HistoryOptions &options)
{
    const std::string since = options.since ? time_before(*options.since) : "";
    std::vector<json> events = read_events(*sysroot, options.file);
    const auto addresses = options.gpu ? addresses_of(sysroot, *options.gpu) : std::vector<std::string>();
    std::erase_if(events, [&](const json &event) {
        return text_member(event, "time") < since ||
               (options.refused && text_member(event, "event") != "refused") ||
               (options.gpu && !had_one(event, addresses));
    });
    std::string text = options.by ? as_sums(events, *options.by) : options.as_json ? "" : event_table(events);
    if (options.as_json) {
        for (const json &event : events)
            text += event.dump(-1, ' ', true) + "\n";
    }
    print(text);
}

} // namespace

int history(CommandLine &cli, Invocation &call)
{
    HistoryOptions wanted;
    cli.add({"--since", "TIME", "Only what is not older, such as 90s, 5m, 2h or 2d (default: all)"},
            wanted.since);
    cli.add({"--gpu", "GPU", "Only what had this GPU: its number or its PCI address (default: all)"},
            wanted.gpu);
    cli.add_choice({"--by", "NAME", "Sums for each key, user or image (default: each event)"},
                   {"key", "user", "image"}, [&](const std::string &name) { wanted.by = name; });
    cli.add_flag("--refused", "Only those that were refused", wanted.refused);
    cli.add({"--file", "FILE", "What the hooks have for --history (default: /var/lib/oci-gpu-hooks/history)"},
            wanted.file);
    cli.add_choice({"--format", "NAME", "table or json (default: table)"}, {"table", "json"},
                   [&](const std::string &name) { wanted.as_json = name == "json"; });
    if (!call.parse())
        return EXIT_SUCCESS;
    if (wanted.by && wanted.as_json)
        throw Error(ErrorKind::Usage, "--by has a table alone");
    if (!wanted.file.starts_with('/'))
        throw Error(ErrorKind::Usage, "--file needs an absolute path, not " + quote(wanted.file));
    print_history(call.open(), wanted);
    return EXIT_SUCCESS;
}

} // namespace ogh::admin
