// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_given_gpus.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "base/number.h"
#include "base/text.h"

namespace ogh::admin {

namespace {

constexpr const char *not_allowed = "not allowed"; // as --list has it

bool has_option(const InstalledHook &hook, const char *name)
{
    return std::find(hook.options.begin(), hook.options.end(), name) != hook.options.end();
}

bool share_an_engine(const InstalledHook &a, const InstalledHook &b)
{
    return std::any_of(a.engines.begin(), a.engines.end(), [&](const std::string &engine) {
        return std::find(b.engines.begin(), b.engines.end(), engine) != b.engines.end();
    });
}

/** The rows of --list; none where the hook has nothing to list, which other checks speak of. */
nlohmann::json rows_of(const Sysroot &sysroot, const InstalledHook &hook, const char *name)
{
    const ProgramOutput output = run_hook(sysroot, hook, {"--list", "--format", "json"});
    return output.exit_status == 0 ? nlohmann::json::parse(output.out).at(name) : nlohmann::json::array();
}

/** What leases know the devices by that this hook may give. */
std::set<std::string> given_keys(const Sysroot &sysroot, const InstalledHook &cdi)
{
    std::set<std::string> keys;
    for (const auto &row : rows_of(sysroot, cdi, "devices"))
        if (row.value("state", "").empty())
            for (const std::string &key : split_list(row.value("keys", "")))
                keys.insert(key);
    return keys;
}

/** A GPU that the hook for them does not give, and this one does; parts of a GPU are not compared. "" if there is none. */
std::string past_allow(const Sysroot &sysroot, const InstalledHook &gpus, const std::set<std::string> &given)
{
    const std::string prefix = gpus.hook->name == "amd-kfd" ? "amd:" : "nvidia:";
    for (const auto &row : rows_of(sysroot, gpus, "gpus"))
        if (const std::string address = row.value("address", "");
            row.value("state", "") == not_allowed && given.contains(prefix + address))
            return address;
    return "";
}

std::optional<unsigned> most_of(const InstalledHook &hook)
{
    const auto most = option_of(hook_file(hook), "--max-devices");
    return most ? parse_small_number(*most, ~0U) : std::nullopt;
}

/** What the one's policy is wider in; "" if it is not. */
std::string wider(const Sysroot &sysroot, const InstalledHook &cdi, const InstalledHook &gpus,
                  const std::set<std::string> &given)
{
    if (const std::string past = past_allow(sysroot, gpus, given); !past.empty())
        return "gives the GPU " + past + ", which --allow of the latter does not";
    const auto most = most_of(gpus);
    if (most && most_of(cdi).value_or(~0U) > *most)
        return "gives a container more GPUs than the " + std::to_string(*most) +
               " of the latter's --max-devices";
    if (option_of(hook_file(gpus), "--min-lease") == "exclusive" &&
        option_of(hook_file(cdi), "--min-lease") != "exclusive")
        return "gives GPUs in shared leases, and the latter's are exclusive (--min-lease)";
    return "";
}

} // namespace

Findings check_given_gpus(const Sysroot &sysroot, const std::vector<InstalledHook> &hooks)
{
    Findings findings;
    for (const InstalledHook &cdi : hooks) {
        if (cdi.hook->name != "cdi-devices" || !has_option(cdi, "--give-gpus"))
            continue;
        const std::set<std::string> given = given_keys(sysroot, cdi);
        for (const InstalledHook &gpus : hooks) {
            if (!gpus.hook->gives_gpus || !share_an_engine(cdi, gpus))
                continue;
            if (const std::string words = wider(sysroot, cdi, gpus, given); !words.empty())
                findings.push_back(
                    {Severity::Error,
                     title_of(cdi) + ", goes round " + std::string(gpus.hook->name) + ": it " + words,
                     "narrow --allow, --max-devices and --min-lease in 'args' of its file, or "
                     "take --give-gpus out"});
        }
    }
    return findings;
}

} // namespace ogh::admin
