// SPDX-License-Identifier: Apache-2.0
#include "registration/policy_words.h"

#include <array>
#include <vector>

#include "base/contains.h"
#include "base/text.h"

namespace ogh::admin {

namespace {

std::string who_asks(const HookFile &file)
{
    const auto opt_in = option_of(file, "--opt-in");
    const auto request = option_of(file, "--request");
    const auto keys = option_of(file, "--key-file");
    std::string who;
    if (const auto from = option_of(file, "--from"))
        who = "Kubernetes' device plugin, by " + quote(*from);
    else if (opt_in == "always")
        who = "every container, unless it asks for something else itself: " + quote(request.value_or(""));
    else if (request)
        who = "every container that this file is called for: " + quote(*request);
    else if (opt_in == "environment" && keys)
        who = "whoever sets annotations, or the container's environment with a key of " + quote(*keys);
    else if (opt_in == "environment")
        who = "whoever sets annotations or the container's environment, its image's author included";
    else
        who = "whoever sets annotations";
    if (const auto only = option_of(file, "--only"))
        who += ", only where " + quote(*only);
    if (const auto observer = option_of(file, "--observer"))
        who += "; every GPU, without a lease, where " + quote(*observer);
    return who;
}

struct Limit {
    const char *option;
    const char *words;
};

constexpr std::array limits{
    Limit{"--allow", "of these alone: "},
    Limit{"--max-devices", "GPUs for one container at most: "},
    Limit{"--quota", "devices at once for all with this quota: "},
    Limit{"--quota-by", "devices at once for each value of this annotation: "},
    Limit{"--max-sharers", "containers on a device at most: "},
    Limit{"--min-lease", "leases at least: "},
    Limit{"--max-wait", "waits at most: "},
    Limit{"--allow-capabilities", "capabilities at most: "},
    Limit{"--allow-imex", "IMEX channels at most: "},
    Limit{"--source-dir", "from the directory "},
    Limit{"--writable", "writable: "},
};

constexpr std::array asks_with_value = {"--opt-in",       "--request", "--key-file", "--count-means",
                                        "--capabilities", "--imex",    "--from",     "--observer"};

} // namespace

std::string policy_words(const HookFile &file)
{
    std::string text;
    for (const Limit &limit : limits)
        if (const auto value = option_of(file, limit.option))
            text += (text.empty() ? "" : "; ") + std::string(limit.words) + quote(*value);
    return who_asks(file) + "; " + (text.empty() ? "no limit" : text);
}

std::vector<std::string> policy_options(const std::vector<std::string> &options)
{
    std::vector<std::string> kept;
    for (size_t i = 0; i < options.size(); ++i) {
        const std::string name = options[i].substr(0, options[i].find('='));
        const bool asks = contains(asks_with_value, name);
        if (asks && name == options[i])
            ++i; // its value
        else if (!asks && name != "--all-steps")
            kept.push_back(options[i]);
    }
    return kept;
}

bool needs_every_container(const HookFile &file)
{
    const auto opt_in = option_of(file, "--opt-in");
    return opt_in == "always" || opt_in == "environment" || option_of(file, "--request") ||
           option_of(file, "--from");
}

} // namespace ogh::admin
