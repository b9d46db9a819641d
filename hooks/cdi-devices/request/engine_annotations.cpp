// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/request/engine_annotations.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "cdi/names.h"

namespace ogh::cdi_devices {

namespace {

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
            throw Error(ErrorKind::Usage,
                        "the annotation " + quote(key) + " has " + quote(word) + ": " + problem +
                            "; it takes names like 'vendor.com/class=name', separated by commas, "
                            "without blanks");
        DeviceName device{std::move(kind), std::move(name)};
        if (std::find(request.devices.begin(), request.devices.end(), device) == request.devices.end())
            request.devices.push_back(std::move(device));
        start = end + 1;
    }
}

} // namespace

DeviceRequest parse_engine_annotations(const Config &config)
{
    DeviceRequest request;
    for (auto entry = config.annotations.lower_bound(engine_prefix);
         entry != config.annotations.end() && entry->first.starts_with(engine_prefix); ++entry)
        add_names(entry->first, entry->second, request);
    return request;
}

} // namespace ogh::cdi_devices
