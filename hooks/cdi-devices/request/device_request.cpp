// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/request/device_request.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cdi/names.h"

namespace ogh::cdi_devices {

namespace {

template<typename Item> void add_once(std::vector<Item> &list, Item item)
{
    if (std::find(list.begin(), list.end(), item) == list.end())
        list.push_back(std::move(item));
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
            throw Error(ErrorKind::Usage, "the " + asked.origin + " has " + quote(word) + ": " + problem +
                                              "; it takes names like 'vendor.com/class=name', separated by "
                                              "commas, or 'none'");
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

} // namespace ogh::cdi_devices
