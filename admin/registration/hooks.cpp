// SPDX-License-Identifier: Apache-2.0
#include "registration/hooks.h"

#include <algorithm>
#include <array>

#include "admin_config.h"
#include "build_config.h"
#include "request/annotations.h"

namespace ogh::admin {

namespace {

constexpr std::array hooks{OGH_OUR_HOOKS};
constexpr auto request_keys = std::to_array<std::string_view>({OGH_REQUEST_KEYS});

} // namespace

const std::string_view default_hooks_directory = OGH_HOOKS_DIRECTORY;

std::span<const OurHook> our_hooks()
{
    return hooks;
}

std::span<const std::string_view> annotation_keys()
{
    return request_keys;
}

const OurHook *find_hook(std::string_view name)
{
    const auto *const found =
        std::find_if(hooks.begin(), hooks.end(), [&](const OurHook &hook) { return hook.name == name; });
    return found == hooks.end() ? nullptr : &*found;
}

std::string annotations_of(const OurHook &hook)
{
    const std::string all = R"(^io\.oci-gpu-hooks\.)";
    return hook.name == misspelling_hook ? all : all + std::string(hook.name) + "([./]|$)";
}

std::vector<std::string> keys_without_default(const std::vector<std::string> &entries)
{
    std::vector<std::string> keys;
    for (const std::string_view key : annotation_keys()) {
        std::string whole = std::string(annotation_prefix) + std::string(key);
        const bool has_default = std::any_of(entries.begin(), entries.end(), [&](const std::string &entry) {
            return entry.substr(0, entry.find('=')) == whole;
        });
        if (!has_default)
            keys.push_back(std::move(whole));
    }
    return keys;
}

} // namespace ogh::admin
