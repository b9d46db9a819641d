// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/exit_status.h"
#include "base/path_names.h"
#include "base/text.h"
#include "engines/engine.h"
#include "engines/installed_hooks.h"
#include "hook/file_options.h"
#include "install/plans.h"
#include "registration/policy_words.h"

namespace ogh::admin {

namespace {

using nlohmann::ordered_json;

constexpr const char *cdi_directory = "/etc/cdi";

std::string path_of(const OurHook &hook)
{
    return std::string(cdi_directory) + "/oci-gpu-hooks-" + std::string(hook.name) + ".json";
}

/** The specification with these options, too: the hook is asked for it with its policy alone. */
std::string with_options(const std::string &text, const OurHook &hook,
                         const std::vector<std::string> &options)
{
    if (options.empty())
        return text;
    ordered_json document = ordered_json::parse(text);
    const auto add = [&](ordered_json &object) {
        for (ordered_json &each : object["containerEdits"]["hooks"])
            if (file_name_of(each.at("path").get<std::string>()) == hook.name)
                for (const std::string &option : options)
                    each["args"].push_back(option);
    };
    if (document.contains("containerEdits"))
        add(document);
    for (ordered_json &device : document["devices"])
        if (device.contains("containerEdits"))
            add(device);
    return document.dump(2) + "\n";
}

} // namespace

bool has_cdi(const OurHook &hook)
{
    return hook.name != "ldcache-update" && hook.name != "cdi-devices";
}

std::string cdi_of(const Sysroot &sysroot, const OurHook &hook, const std::vector<std::string> &options,
                   const std::string &kind)
{
    const FileOptions sorted = sort_options(options);
    if (!sorted.problems.empty())
        throw Error(ErrorKind::Usage, std::string(hook.name) + ": " + sorted.problems.front());
    const InstalledHook installed{&hook, sorted.policy, {}};
    const ProgramOutput output = run_hook(sysroot, installed, {"--cdi" + (kind.empty() ? "" : "=" + kind)});
    if (output.exit_status != 0)
        throw Error(kind_of_status(output.exit_status),
                    std::string(hook.name) + ": " + message_of(installed, output));
    return with_options(output.out, hook, sorted.others);
}

std::vector<std::string> options_in_effect(const std::vector<InstalledHook> &installed, const OurHook &hook)
{
    std::optional<std::vector<std::string>> found;
    for (const InstalledHook &each : installed) {
        if (each.hook != &hook)
            continue;
        auto options = each.options;
        options.insert(options.end(), each.others.begin(), each.others.end());
        options = policy_options(options);
        if (found && *found != options)
            throw Error(ErrorKind::BrokenHost,
                        "engines call " + std::string(hook.name) +
                            " with different options: say which ones the devices are to have, "
                            "behind its name");
        found = std::move(options);
    }
    return found.value_or(std::vector<std::string>());
}

InstallPlan plan_cdi(const InstallHost &host, const InstallRequest &request)
{
    InstallPlan plan;
    const std::vector<InstalledHook> installed = installed_hooks(*host.sysroot, find_engines(host.sysroot));
    for (const OurHook *const hook : wanted_hooks(*host.sysroot, request)) {
        if (!has_cdi(*hook)) {
            if (!request.hooks.empty())
                throw Error(ErrorKind::Usage,
                            std::string(hook->name) +
                                " has no devices of its own: it is called with those of GPU hooks");
            continue;
        }
        const auto given = wanted_options(host, request, path_of(*hook));
        const auto options = given ? *given : options_in_effect(installed, *hook);
        plan.files.push_back(planned_file(request, path_of(*hook), cdi_of(*host.sysroot, *hook, options),
                                          std::string(hook->name), options));
        plan.said.push_back(filled(request.kind->how_to_ask, "DEVICE",
                                   "io.oci-gpu-hooks/" + std::string(hook->name) + "=all"));
    }
    plan.said.insert(plan.said.end(), request.kind->left_to_do.begin(), request.kind->left_to_do.end());
    return plan;
}

} // namespace ogh::admin
