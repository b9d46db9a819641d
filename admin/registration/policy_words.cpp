// SPDX-License-Identifier: Apache-2.0
#include "registration/policy_words.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "base/number.h"
#include "base/text.h"
#include "hook/declared_options.h"

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
        who = "every container, unless it asks for something else itself: " + quote(request.value_or("")) +
              "; get, put and check of Concourse's get nothing";
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
    Limit{"--quota", "devices at once for all with this quota, or for each value of this annotation: "},
    Limit{"--max-sharers", "containers on a device at most: "},
    Limit{"--min-lease", "leases at least: "},
    Limit{"--max-wait", "waits at most: "},
    Limit{"--allow-capabilities", "capabilities at most: "},
    Limit{"--allow-imex", "IMEX channels at most: "},
    Limit{"--source-dir", "from the directory "},
    Limit{"--writable", "writable: "},
};

/** What the option of that name is to who reads a file. @param what of option_use */
bool is(const std::string &name, unsigned what)
{
    const DeclaredOption *const option = find_option(name);
    return option != nullptr && option->is(what);
}

struct Setting {
    std::string name;
    std::string value; ///< "" of what takes none
};

/** @param words as sort_options() gives them: what does not begin with '-' is the value of the word before it */
std::vector<Setting> settings_in(const std::vector<std::string> &words)
{
    std::vector<Setting> settings;
    for (const std::string &word : words) {
        const size_t end = std::min(word.find('='), word.size());
        if (!word.starts_with('-'))
            settings.back().value = word;
        else
            settings.push_back({word.substr(0, end), end == word.size() ? "" : word.substr(end + 1)});
    }
    return settings;
}

/** Those of the policy, and the key file. */
std::vector<Setting> settings_of(const std::vector<std::string> &options)
{
    const FileOptions sorted = sort_options(options);
    std::vector<Setting> settings = settings_in(sorted.policy);
    for (const Setting &each : settings_in(sorted.others))
        if (each.name == "--key-file")
            settings.push_back(each);
    return settings;
}

/** A number, of what stands in front of it: "NAME=N", or "N" alone. */
std::pair<std::string_view, std::optional<unsigned>> numbered(std::string_view value)
{
    const size_t begin = value.rfind('=') + 1; // npos + 1 is 0
    return {value.substr(0, begin), parse_small_number(value.substr(begin), ~0U)};
}

/** The same, a smaller number, or a part of a list. */
bool is_narrower(const Setting &now, const Setting &before)
{
    if (now.name != before.name)
        return false;
    const auto [name, least] = numbered(now.value);
    const auto [name_before, most] = numbered(before.value);
    if (least && most)
        return name == name_before && *least <= *most;
    const std::vector<std::string> all = split_list(before.value);
    const std::vector<std::string> some = split_list(now.value);
    return std::all_of(some.begin(), some.end(),
                       [&](const std::string &each) { return contains(all, each); });
}

std::string as_written(const Setting &setting)
{
    return setting.name + (setting.value.empty() ? "" : " " + setting.value);
}

} // namespace

Widening widening_of(const std::vector<std::string> &before, const std::vector<std::string> &now)
{
    const std::vector<Setting> were = settings_of(before);
    const std::vector<Setting> are = settings_of(now);
    Widening found;
    for (const Setting &had : were)
        if (is(had.name, option_use::narrows) &&
            std::none_of(are.begin(), are.end(), [&](const Setting &has) { return is_narrower(has, had); }))
            found.gone.push_back(as_written(had));
    for (const Setting &has : are)
        if (is(has.name, option_use::widens) &&
            std::none_of(were.begin(), were.end(), [&](const Setting &had) { return is_narrower(has, had); }))
            found.come.push_back(as_written(has));
    return found;
}

std::string policy_words(const HookFile &file)
{
    std::string text;
    for (const Limit &limit : limits)
        if (const auto value = option_of(file, limit.option))
            text += (text.empty() ? "" : "; ") + std::string(limit.words) + quote(*value);
    return who_asks(file) + "; " + (text.empty() ? "no limit" : text);
}

std::vector<std::string> policy_options(const std::vector<std::string> &options, std::string_view without)
{
    std::vector<std::string> kept;
    for (size_t i = 0; i < options.size(); ++i) {
        const DeclaredOption *const option = find_option(options[i].substr(0, options[i].find('=')));
        if (option == nullptr || (!option->is(option_use::asks) && option->name != without))
            kept.push_back(options[i]);
        else if (option->type != nullptr && option->name == options[i])
            ++i; // its value
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
