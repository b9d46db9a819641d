// SPDX-License-Identifier: Apache-2.0
#include "commands/history_events.h"

#include <map>
#include <sstream>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "history/history.h"
#include "host/host_file.h"

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

} // namespace

double event_number(const json &event, const char *name)
{
    const auto found = event.find(name);
    return found != event.end() && found->is_number() ? found->get<double>() : 0;
}

std::vector<std::string> gpus_of(const json &event)
{
    std::vector<std::string> gpus;
    if (const auto found = event.find("gpus"); found != event.end() && found->is_array()) {
        for (const json &gpu : *found)
            gpus.push_back(gpu.is_string() ? gpu.get<std::string>() : "");
    }
    return gpus;
}

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

} // namespace ogh::admin
