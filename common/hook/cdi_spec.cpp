// SPDX-License-Identifier: Apache-2.0
#include "hook/cdi_spec.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

namespace ogh {

namespace {

using nlohmann::ordered_json;

// The lowest that allows a device's name to begin with a digit: each engine knows it.
constexpr const char *cdi_version = "0.5.0";

// More than any host has been seen with.
constexpr unsigned gpu_indices = 32;
constexpr unsigned most_of_any = 8;

bool is_alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/** `env` must not be empty: engines drop an empty list, and the hook had the environment of whoever started them. */
ordered_json call(const std::string &executable, const std::vector<std::string> &args,
                  std::chrono::seconds timeout)
{
    return {{"hookName", "createRuntime"},
            {"path", executable},
            {"args", args},
            {"env", ordered_json::array({"PATH=/usr/sbin:/usr/bin:/sbin:/bin"})},
            {"timeout", timeout.count()}};
}

/**
 * The calls stand in the device and not beside the list of devices: what stands there is done once for the file, and
 * not once for each device that a container has.
 */
ordered_json device(const CdiSpec &spec, const CdiDevice &device)
{
    std::vector<std::string> args{spec.hook};
    args.insert(args.end(), spec.options.begin(), spec.options.end());
    args.insert(args.end(), {"--request", device.request});
    ordered_json hooks = ordered_json::array({call(spec.executable, args, spec.timeout)});
    if (!spec.ldcache_update.empty())
        hooks.push_back(call(spec.ldcache_update, {"ldcache-update", "--request", "auto"}, spec.timeout));
    return {{"name", device.name}, {"containerEdits", ordered_json::object({{"hooks", std::move(hooks)}})}};
}

} // namespace

bool is_cdi_name(std::string_view name)
{
    const auto is_inner = [](char c) {
        return is_alphanumeric(c) || c == '_' || c == '-' || c == '.' || c == ':';
    };
    return !name.empty() && is_alphanumeric(name.front()) && is_alphanumeric(name.back()) &&
           std::all_of(name.begin(), name.end(), is_inner);
}

std::string to_json(const CdiSpec &spec)
{
    ordered_json devices = ordered_json::array();
    std::set<std::string> names;
    for (const CdiDevice &each : spec.devices)
        if (is_cdi_name(each.name) && names.insert(each.name).second)
            devices.push_back(device(spec, each));
    const ordered_json document = {{"cdiVersion", cdi_version},
                                   {"kind", spec.kind.empty() ? "io.oci-gpu-hooks/" + spec.hook : spec.kind},
                                   {"devices", devices}};
    return document.dump(2) + "\n";
}

std::vector<CdiDevice> gpu_devices(const std::vector<Candidate> &gpus)
{
    std::vector<CdiDevice> devices = devices_named({"all"});
    for (unsigned i = 0; i < gpu_indices; ++i)
        devices.push_back({std::to_string(i), std::to_string(i)});
    for (unsigned i = 1; i <= most_of_any; ++i)
        devices.push_back({"any:" + std::to_string(i), "any:" + std::to_string(i)});
    for (unsigned i = 0; i < gpu_indices; ++i)
        devices.push_back({"gpu" + std::to_string(i), std::to_string(i)});
    for (const Candidate &gpu : gpus)
        devices.push_back({gpu.description, gpu.description});
    return devices;
}

std::vector<CdiDevice> devices_named(const std::vector<std::string> &names)
{
    std::vector<CdiDevice> devices;
    devices.reserve(names.size());
    for (const std::string &name : names)
        devices.push_back({name, name});
    return devices;
}

} // namespace ogh
