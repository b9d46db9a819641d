// SPDX-License-Identifier: Apache-2.0
#include "install/one_directory_plan.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "doctor/check_hook_file.h"
#include "engines/installed_hooks.h"
#include "hook/cdi_option.h"
#include "hook/options.h"
#include "registration/policy_words.h"

namespace ogh::admin {

namespace {

using nlohmann::ordered_json;

/** Where every file of a directory is a hook, `when` is not looked at: the file says what is so. */
ordered_json when_of(const Engine &engine, const OurHook &hook, const HookFile &file)
{
    if (engine.rules == DirectoryRules::EveryFile || needs_every_container(file))
        return ordered_json::object({{"always", true}});
    return ordered_json::object(
        {{"annotations", ordered_json::object({{annotations_of(hook), values_that_count}})}});
}

/** With annotations alone nobody could ask where `when` is not evaluated and nobody sets an annotation. */
void check_opt_in(const HookFile &file)
{
    if (file.ours->name != "ldcache-update" && !needs_every_container(file))
        throw Error(
            ErrorKind::Usage,
            std::string(file.ours->name) +
                " would give to containers with annotations alone, and a pipeline can set none: have behind "
                "it --opt-in always --request REQUEST, or --opt-in environment --key-file FILE, see "
                "'Concourse' in oci-gpu-hooks(7)");
}

void check_others(const HookDirectory &directory, const InstallPlan &plan, const std::string &engine)
{
    if (!directory.problem.empty())
        throw Error(ErrorKind::BrokenHost, directory.problem);
    for (const HookFile &file : directory.files) {
        if (is_planned(plan, file))
            continue;
        if (!file.problem.empty())
            throw Error(ErrorKind::BrokenHost,
                        quote(file.path) + ": " + engine + " takes every file of the directory for a hook (" +
                            file.problem + "): move it away, or name another --directory");
        for (const PlannedFile &planned : plan.files)
            if (file.ours != nullptr && planned.file.hook == file.ours->name)
                throw Error(ErrorKind::BrokenHost, quote(file.path) + " calls " + planned.file.hook +
                                                       " too: remove it, or name another --directory");
    }
}

/** GPUs without their libraries. */
bool lacks_libraries(const InstallPlan &plan, const HookDirectory &directory)
{
    bool gives_gpus = false;
    bool gives_libraries = false;
    for (const PlannedFile &planned : plan.files) {
        const OurHook *const hook = find_hook(planned.file.hook);
        gives_gpus |= hook->gives_gpus;
        gives_libraries |= hook->name == "ldcache-update";
    }
    for (const HookFile &file : directory.files)
        gives_libraries |= file.ours != nullptr && file.ours->name == "ldcache-update";
    return gives_gpus && !gives_libraries;
}

} // namespace

ordered_json hook_entry(const OurHook &hook, const std::vector<std::string> &options)
{
    const HookFile file = hook_file({&hook, options, {}});
    const auto wait = option_of(file, "--max-wait");
    return {{"path", hook.executable},
            {"args", file.args},
            {"env", ordered_json::array({"PATH=/usr/sbin:/usr/bin:/sbin:/bin"})},
            {"timeout", hook_timeout(wait.value_or("")).count()}};
}

std::string hook_file_text(const Engine &engine, const OurHook &hook, const std::vector<std::string> &options)
{
    const ordered_json document = {{"version", "1.0.0"},
                                   {"hook", hook_entry(hook, options)},
                                   {"when", when_of(engine, hook, hook_file({&hook, options, {}}))},
                                   {"stages", ordered_json::array({"createRuntime"})}};
    return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

void refuse_errors(const Engine &engine, const HookFile &file)
{
    if (!file.problem.empty())
        throw Error(ErrorKind::BrokenHost, file.path + ": " + file.problem);
    for (const Finding &finding : check_hook_file(engine, file))
        if (finding.severity == Severity::Error)
            throw Error(ErrorKind::BrokenHost, finding.text + "; " + finding.remedy);
}

PlannedFile planned_hook_file(const InstallHost &host, const InstallRequest &request, const Engine &engine,
                              const OurHook &hook, const std::string &path)
{
    const auto options = wanted_options(host, request, path).value_or(std::vector<std::string>());
    std::string text = hook_file_text(engine, hook, options);
    refuse_errors(engine, parse_hook_file(path, text));
    return planned_file(request, path, std::move(text), std::string(hook.name), options);
}

bool is_planned(const InstallPlan &plan, const HookFile &file)
{
    return std::any_of(plan.files.begin(), plan.files.end(),
                       [&](const PlannedFile &planned) { return planned.file.path == file.path; });
}

InstallPlan plan_one_directory(const InstallHost &host, const InstallRequest &request)
{
    const std::string path =
        absolute_directory(request.directory.value_or(request.kind->own_directory()), "--directory");
    const Engine engine = request.kind->new_engine(host.sysroot);
    InstallPlan plan;
    for (const OurHook *const hook : wanted_hooks(*host.sysroot, request)) {
        plan.files.push_back(planned_hook_file(host, request, engine, *hook, path_in(path, hook->file)));
        check_opt_in(hook_file({hook, plan.files.back().file.options, {}}));
        plan.files.back().way = directory_of(path); // a worker that starts reads whatever is in the directory
    }
    const HookDirectory directory = read_hook_directory(*host.sysroot, path, engine.rules);
    check_others(directory, plan, engine.name);
    if (lacks_libraries(plan, directory))
        plan.said.emplace_back("ldcache-update is not called: images without /usr/local/nvidia in their "
                               "LD_LIBRARY_PATH do not find the driver's libraries");
    for (std::string &line : request.kind->left_to_do(path))
        plan.said.push_back(std::move(line));
    return plan;
}

} // namespace ogh::admin
