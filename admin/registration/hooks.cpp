// SPDX-License-Identifier: Apache-2.0
#include "registration/hooks.h"

#include <algorithm>
#include <array>

#include "admin_config.h"
#include "build_config.h"

namespace ogh::admin {

namespace {

constexpr std::array hooks{OGH_OUR_HOOKS};
constexpr auto keys = std::to_array<std::string_view>({OGH_REQUEST_KEYS});

} // namespace

const std::string_view default_hooks_folder = OGH_HOOKS_FOLDER;

std::span<const OurHook> our_hooks()
{
    return hooks;
}

std::span<const std::string_view> annotation_keys()
{
    return keys;
}

const OurHook *find_hook(std::string_view name)
{
    const auto *const found =
        std::find_if(hooks.begin(), hooks.end(), [&](const OurHook &hook) { return hook.name == name; });
    return found == hooks.end() ? nullptr : &*found;
}

} // namespace ogh::admin
