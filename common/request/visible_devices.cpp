// SPDX-License-Identifier: Apache-2.0
#include "request/visible_devices.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "base/text.h"

namespace ogh {

namespace {

constexpr const char *nvidia_variable = "NVIDIA_VISIBLE_DEVICES";
constexpr std::string_view amd_variable = "AMD_VISIBLE_DEVICES";
constexpr std::string_view swarm_prefix = "DOCKER_RESOURCE_";

using Items = std::vector<std::string>;

RequestValue asked_by(const std::string &variable, std::string value)
{
    return request_value(std::move(value), "environment variable " + quote(variable));
}

/** Without the empty ones. */
Items items_of(const RequestValue &asked)
{
    Items items = split_list(asked.value);
    std::erase(items, "");
    return items;
}

Selectors named(const Items &items, const RequestValue &asked)
{
    Selectors selectors;
    for (const std::string &item : without_repeats(items))
        selectors.named.push_back(parse_selector(item, asked));
    return selectors;
}

/** Whether these are `0`, `1`, … in this order. */
bool is_count(const Items &items)
{
    for (size_t i = 0; i < items.size(); ++i)
        if (items[i] != std::to_string(i))
            return false;
    return true;
}

/** As docker's `--gpus` has it besides: `any:N` of `device=`, and a count. */
Selectors named_or_any(const Items &items, const RequestValue &asked, CountMeans count_means)
{
    Selectors selectors;
    if (count_means == CountMeans::Any && is_count(items)) {
        selectors.any = static_cast<unsigned>(items.size());
        return selectors;
    }
    for (const std::string &item : without_repeats(items))
        if (!add_any(item, asked, selectors))
            selectors.named.push_back(parse_selector(item, asked));
    return selectors;
}

/** The last variable in the environment that AMD's toolkit looks at; nothing if there is none. */
std::optional<RequestValue> amd_value(const Config &config)
{
    for (auto entry = config.environment.rbegin(); entry != config.environment.rend(); ++entry) {
        const size_t equals = entry->find('=');
        const std::string name = entry->substr(0, equals);
        if (equals != std::string::npos && (name == amd_variable || name.starts_with(swarm_prefix)))
            return asked_by(name, entry->substr(equals + 1));
    }
    return std::nullopt;
}

bool is_bare_unique_id(const std::string &item)
{
    return item.size() > 8 && item.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
}

} // namespace

bool is_legacy_cuda_image(const Config &config)
{
    return !environment_value(config, "CUDA_VERSION").value_or("").empty() &&
           environment_value(config, "NVIDIA_REQUIRE_CUDA").value_or("").empty();
}

std::optional<Selectors> nvidia_visible_devices(const Config &config, CountMeans count_means)
{
    auto value = environment_value(config, nvidia_variable);
    if (!value)
        return is_legacy_cuda_image(config) ? std::optional(Selectors{.all = true}) : std::nullopt;
    const RequestValue asked = asked_by(nvidia_variable, std::move(*value));
    const Items items = items_of(asked);
    if (items.empty() || contains(items, "void"))
        return std::nullopt;
    const auto word = std::find_if(items.begin(), items.end(),
                                   [](const std::string &item) { return item == "all" || item == "none"; });
    if (word == items.end())
        return named_or_any(items, asked, count_means);
    return *word == "all" ? Selectors{.all = true} : Selectors{.none = true};
}

std::optional<Selectors> amd_visible_devices(const Config &config)
{
    const auto asked = amd_value(config);
    if (!asked)
        return std::nullopt;
    Items items = items_of(*asked);
    if (items.empty() || items == Items{"void"})
        return std::nullopt;
    if (items == Items{"none"})
        return Selectors{.none = true};
    if (items == Items{"all"} || items == Items{"All"} || items == Items{"ALL"})
        return Selectors{.all = true};
    for (std::string &item : items) {
        if (is_bare_unique_id(item))
            item.insert(0, "0x");
    }
    return named(items, *asked);
}

} // namespace ogh
