// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/request/capabilities.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "request/visible_devices.h"

namespace ogh::nvidia_devices {

namespace {

/** What stands for no capability at all in --allow-capabilities. */
constexpr std::string_view no_capability = "none";

/** The error for a capability that the host's policy does not hand out. @param allowed those that it does */
Error capability_not_allowed(std::string_view capability, CapabilityBits allowed)
{
    const std::string offer = allowed.is_empty() ? "none" : quote_list(names_of(allowed));
    return {ErrorKind::Denied,
            "no capability " + quote(capability) +
                ": the host's policy (--allow-capabilities) does not allow it; it allows " + offer};
}

constexpr const char *variable = "NVIDIA_DRIVER_CAPABILITIES";

struct Name {
    std::string_view text;
    Capability capability;
    const char
        *variable; ///< of NVIDIA's toolkit, for what its list of capabilities does not have; or nullptr
};

/** In the order of the enumeration. */
constexpr std::array<Name, 10> capability_names{{
    {"compute", Capability::Compute, nullptr},
    {"utility", Capability::Utility, nullptr},
    {"video", Capability::Video, nullptr},
    {"graphics", Capability::Graphics, nullptr},
    {"display", Capability::Display, nullptr},
    {"ngx", Capability::Ngx, nullptr},
    {"compat32", Capability::Compat32, nullptr},
    {"gds", Capability::Gds, "NVIDIA_GDS"},
    {"gdrcopy", Capability::Gdrcopy, "NVIDIA_GDRCOPY"},
    {"mofed", Capability::Mofed, "NVIDIA_MOFED"},
}};

enum class Grammar { Ours, Toolkit };

bool is_known(const Name &name, Grammar grammar)
{
    return grammar == Grammar::Ours || name.variable == nullptr;
}

Error refused(const RequestValue &asked, const std::string &why, Grammar grammar)
{
    std::string list = "'all'";
    for (const Name &name : capability_names) {
        if (is_known(name, grammar))
            list += ", " + quote(name.text);
    }
    return {ErrorKind::Usage, "the " + asked.origin + " has " + why + " in " + quote(asked.value) +
                                  "; it takes a list, separated by commas, of " + list};
}

void add_item(Capabilities &capabilities, const std::string &item, const RequestValue &asked, Grammar grammar)
{
    if (item.empty())
        throw refused(asked, "an empty item", grammar);
    const auto *const name =
        std::find_if(capability_names.begin(), capability_names.end(), [&](const Name &candidate) {
            return candidate.text == item && is_known(candidate, grammar);
        });
    if (item == "all")
        capabilities.all = true;
    else if (name != capability_names.end())
        capabilities.named.add(name->capability);
    else
        throw refused(asked, quote(item) + ", which is no capability,", grammar);
}

/** NVIDIA_DRIVER_CAPABILITIES alone. */
Capabilities driver_capabilities(const Config &config)
{
    const auto value = environment_value(config, variable);
    if (!value && is_legacy_cuda_image(config))
        return {{}, true};
    const RequestValue asked{value.value_or(""), "environment variable " + quote(variable)};
    Capabilities capabilities;
    for (const std::string &item : split_list(asked.value)) {
        if (!item.empty())
            add_item(capabilities, item, asked, Grammar::Toolkit);
    }
    return capabilities == Capabilities{} ? default_capabilities() : capabilities;
}

} // namespace

std::string_view name_of(Capability capability)
{
    return capability_names.at(static_cast<size_t>(capability)).text;
}

std::vector<std::string> names_of(CapabilityBits capabilities)
{
    std::vector<std::string> names;
    for (const Name &name : capability_names) {
        if (capabilities.has(name.capability))
            names.emplace_back(name.text);
    }
    return names;
}

std::string to_text(const Capabilities &capabilities)
{
    std::vector<std::string> names = names_of(capabilities.named);
    if (capabilities.all)
        names.insert(names.begin(), "all");
    return list_text(names);
}

Capabilities default_capabilities()
{
    return {{Capability::Compute, Capability::Utility}, false};
}

Capabilities parse_capabilities(const RequestValue &asked)
{
    Capabilities capabilities;
    for (const std::string &item : split_list(asked.value))
        add_item(capabilities, item, asked, Grammar::Ours);
    return capabilities;
}

Capabilities parse_allowed_capabilities(const RequestValue &list)
{
    return list.value == no_capability ? Capabilities{} : parse_capabilities(list);
}

Capabilities permitted(const Capabilities &wanted, const std::optional<Capabilities> &allowed)
{
    if (!allowed)
        return wanted;
    const CapabilityBits offer = allowed->asked();
    if (const CapabilityBits refused = wanted.named - offer; !refused.is_empty())
        throw capability_not_allowed(names_of(refused).front(), offer);
    Capabilities left = wanted;
    if (wanted.all)
        left.withheld = wanted.withheld | (meant_by_all - offer);
    if (wanted.all && left.asked().is_empty())
        throw capability_not_allowed("all", offer);
    return left;
}

Capabilities capabilities_of_environment(const Config &config)
{
    Capabilities capabilities = driver_capabilities(config);
    for (const Name &name : capability_names) {
        if (name.variable != nullptr && environment_value(config, name.variable) == "enabled")
            capabilities.named.add(name.capability);
    }
    return capabilities;
}

} // namespace ogh::nvidia_devices
