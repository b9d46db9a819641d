// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/request/device_request.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "cdi/names.h"

namespace ogh::cdi_devices {

namespace {

Error wrong(const std::string &origin, const std::string &word, const std::string &problem, const char *form)
{
    return {ErrorKind::Usage, "the " + origin + " has " + quote(word) + ": " + problem +
                                  "; it takes names like 'vendor.com/class=name', separated by commas, " +
                                  form};
}

constexpr std::string_view engine_prefix = "cdi.k8s.io/";

void add_names(const std::string &key, std::string_view value, DeviceRequest &request)
{
    for (size_t start = 0; start <= value.size();) {
        const size_t end = std::min(value.find(',', start), value.size());
        const std::string word(value.substr(start, end - start));
        auto [kind, name, has_device] = cdi::split_name(word);
        std::string problem = cdi::kind_problem(kind);
        if (problem.empty())
            problem = has_device ? cdi::device_problem(name) : "it names no device";
        if (!problem.empty())
            throw wrong("annotation " + quote(key), word, problem, "without blanks");
        add_once(request.devices, {std::move(kind), std::move(name)});
        start = end + 1;
    }
}

} // namespace

DeviceRequest parse_device_request(const RequestValue &asked)
{
    DeviceRequest request;
    if (trimmed(asked.value) == "none")
        return request;
    for (const std::string &word : split_list(asked.value)) {
        auto [kind, name, has_device] = cdi::split_name(word);
        std::string problem = cdi::kind_problem(kind);
        const bool all = !has_device || name == "*";
        if (problem.empty() && !all)
            problem = cdi::device_problem(name);
        if (!problem.empty())
            throw wrong(asked.origin, word, problem, "or 'none'");
        if (all)
            add_once(request.kinds, std::move(kind));
        else
            add_once(request.devices, {std::move(kind), std::move(name)});
    }
    return request;
}

bool asks_for(const DeviceRequest &request, std::string_view kind, std::string_view name)
{
    return std::any_of(request.devices.begin(), request.devices.end(),
                       [&](const DeviceName &each) { return each.kind == kind && each.name == name; });
}

DeviceRequest parse_engine_annotations(const Config &config)
{
    DeviceRequest request;
    for (auto entry = config.annotations.lower_bound(engine_prefix);
         entry != config.annotations.end() && entry->first.starts_with(engine_prefix); ++entry)
        add_names(entry->first, entry->second, request);
    return request;
}

} // namespace ogh::cdi_devices
