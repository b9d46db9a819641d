// SPDX-License-Identifier: Apache-2.0
#include "listing/cdi_spec.h"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "base/letters.h"
#include "base/text.h"
#include "request/selection.h"

namespace ogh {

namespace {

using nlohmann::ordered_json;

// The lowest that allows a device's name to begin with a digit: each engine knows it.
constexpr const char *cdi_version = "0.5.0";

// What there is room for on a host that has fewer today.
constexpr size_t least_indices = 32;
constexpr size_t least_of_any = 8;

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

/** What has a name that CDI does not allow has another one too, or is told to be left out. */
void add_names(const Candidate &gpu, std::vector<std::string> &names)
{
    const size_t before = names.size();
    if (!gpu.whole)
        names.push_back(to_text(gpu.address));
    std::copy_if(gpu.names.begin(), gpu.names.end(), std::back_inserter(names), is_cdi_name);
    if (names.size() == before)
        names.push_back(gpu.description);
}

void add_groups(const std::vector<Candidate> &gpus, std::vector<std::string> &names)
{
    std::map<std::string, unsigned> sizes;
    for (const Candidate &gpu : gpus)
        for (const std::string &group : gpu.groups)
            ++sizes[group];
    for (const auto &[group, size] : sizes) {
        names.push_back(group);
        for (unsigned i = 1; i <= size; ++i)
            names.push_back(any_text(i, group));
    }
}

} // namespace

bool is_cdi_name(std::string_view name)
{
    const auto is_inner = [](char c) {
        return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.' || c == ':';
    };
    return !name.empty() && is_letter_or_digit(name.front()) && is_letter_or_digit(name.back()) &&
           std::all_of(name.begin(), name.end(), is_inner);
}

std::string to_json(const CdiSpec &spec, Notes &notes)
{
    ordered_json devices = ordered_json::array();
    std::set<std::string> names;
    for (const CdiDevice &each : spec.devices) {
        if (!names.insert(each.name).second)
            continue;
        if (is_cdi_name(each.name))
            devices.push_back(device(spec, each));
        else
            notes.push_back(
                {LogLevel::Warning, quote(each.name) +
                                        " is left out: a CDI device is called by letters "
                                        "and digits, and within its name '_', '-', '.' and ':' as well"});
    }
    const ordered_json document = {{"cdiVersion", cdi_version},
                                   {"kind", spec.kind.empty() ? "io.oci-gpu-hooks/" + spec.hook : spec.kind},
                                   {"devices", devices}};
    return document.dump(2) + "\n";
}

std::vector<CdiDevice> gpu_devices(const std::vector<Candidate> &gpus)
{
    std::vector<std::string> names{"all", "allowed"};
    const auto of_any = static_cast<unsigned>(std::max(least_of_any, gpus.size()));
    for (unsigned i = 1; i <= of_any; ++i)
        names.push_back(any_text(i, ""));
    add_groups(gpus, names);
    for (const Candidate &gpu : gpus)
        add_names(gpu, names);
    std::vector<CdiDevice> devices = devices_named(names);
    const auto indices = static_cast<unsigned>(std::max(least_indices, gpus.size()));
    for (unsigned i = 0; i < indices; ++i) {
        devices.push_back({std::to_string(i), std::to_string(i)});
        devices.push_back({"gpu" + std::to_string(i), std::to_string(i)});
    }
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
