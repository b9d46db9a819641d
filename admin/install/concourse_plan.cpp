// SPDX-License-Identifier: Apache-2.0
#include "install/concourse_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "hook/options.h"
#include "install/hook_file_text.h"
#include "install/host_writer.h"
#include "registration/hook_folders.h"

namespace ogh::admin {

namespace {

bool is_planned(const InstallPlan &plan, const HookFile &file)
{
    return std::any_of(plan.files.begin(), plan.files.end(),
                       [&](const PlannedFile &planned) { return planned.file.path == file.path; });
}

void check_others(const HookFolder &folder, const InstallPlan &plan, const std::string &name)
{
    if (!folder.problem.empty())
        throw Error(ErrorKind::BrokenHost, folder.problem);
    for (const HookFile &file : folder.files) {
        if (is_planned(plan, file))
            continue;
        if (!file.problem.empty())
            throw Error(ErrorKind::BrokenHost,
                        quote(file.path) + ": " + name + " takes every file of the folder for a hook (" +
                            file.problem + "): move it away, or name another --folder");
        for (const PlannedFile &planned : plan.files)
            if (file.ours != nullptr && planned.file.hook == file.ours->name)
                throw Error(ErrorKind::BrokenHost, quote(file.path) + " calls " + planned.file.hook +
                                                       " too: remove it, or name another --folder");
    }
}

bool gives_gpus(const InstallPlan &plan)
{
    return std::any_of(plan.files.begin(), plan.files.end(), [](const PlannedFile &planned) {
        const OurHook *const hook = find_hook(planned.file.hook);
        return hook != nullptr && hook->gives_gpus;
    });
}

bool calls(const HookFolder &folder, const InstallPlan &plan, std::string_view hook)
{
    return std::any_of(plan.files.begin(), plan.files.end(),
                       [&](const PlannedFile &planned) { return planned.file.hook == hook; }) ||
           std::any_of(folder.files.begin(), folder.files.end(),
                       [&](const HookFile &file) { return file.ours != nullptr && file.ours->name == hook; });
}

} // namespace

InstallPlan plan_one_folder(const InstallHost &host, const InstallRequest &request)
{
    const std::string path = absolute_folder(request.folder.value_or(request.kind->own_folder()), "--folder");
    const Engine engine = request.kind->new_engine(host.sysroot);
    InstallPlan plan;
    for (const OurHook *const hook : wanted_hooks(host, request)) {
        const std::string file = path + "/" + std::string(hook->file);
        const auto options = wanted_options(host, request, file).value_or(std::vector<std::string>());
        std::string text = hook_file_text(*hook, options);
        check_hook_text(engine, file, text);
        plan.files.push_back(planned_file(request, file, std::move(text), std::string(hook->name), options));
        plan.files.back().way = folder_of(path); // a worker that starts reads whatever is in the folder
    }
    const HookFolder folder = read_hook_folder(*host.sysroot, path, FolderRules::EveryFile);
    check_others(folder, plan, request.kind->name());
    if (gives_gpus(plan) && !calls(folder, plan, "ldcache-update"))
        plan.said.emplace_back("ldcache-update is not called: images without /usr/local/nvidia in their "
                               "LD_LIBRARY_PATH do not find the driver's libraries");
    for (std::string &line : request.kind->left_to_do(path))
        plan.said.push_back(std::move(line));
    return plan;
}

} // namespace ogh::admin
