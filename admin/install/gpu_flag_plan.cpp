// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "doctor/checks.h"
#include "engines/docker.h"
#include "engines/installed_hooks.h"
#include "hook/declared_options.h"
#include "install/plans.h"

namespace ogh::admin {

namespace {

/** Who asks, and for what, says the flag; what the number in it means says the host. */
bool is_for_the_flag(const std::string &word)
{
    const DeclaredOption *const option = find_option(word.substr(0, word.find('=')));
    return option != nullptr && option->is(option_use::asks) &&
           option->name != std::string_view("--count-means");
}

void refuse_vendors(const Sysroot &sysroot)
{
    if (const auto vendors = find_vendors_gpu_flag(sysroot))
        throw Error(ErrorKind::BrokenHost,
                    quote(*vendors) +
                        " is NVIDIA's own, which gives GPUs past the hooks and their policy: remove it, with "
                        "the package that it came with");
}

/** @return whether the hook knows any GPU here; false where it is not installed */
bool has_gpus(const Sysroot &sysroot, const char *name)
{
    const OurHook &hook = *find_hook(name);
    return sysroot.find(hook.executable) &&
           run_hook(sysroot, {&hook, {}, {}}, {"--list=status"}).exit_status == 0;
}

/** @return the options of the hook */
std::vector<std::string> checked_options(const InstallHost &host, const InstallRequest &request)
{
    for (const OurHook *const hook : request.hooks)
        if (hook->name != "nvidia-devices")
            throw Error(
                ErrorKind::Usage,
                "--gpus calls nvidia-devices, and not " + std::string(hook->name) +
                    ": ldcache-update goes along with it, and docker gives other devices by --device");
    auto options = wanted_options(host, request, gpu_flag_path).value_or(std::vector<std::string>());
    for (const std::string &word : options) {
        if (is_for_the_flag(word))
            throw Error(ErrorKind::Usage,
                        quote(word) + " says who asks, or for what: with --gpus the flag does");
        if (printable(word) != word)
            throw Error(ErrorKind::Usage, quote(word) + " has characters that do not belong in a script");
    }
    return options;
}

std::vector<HookFile> calls_with(const Sysroot &sysroot, const std::vector<std::string> &options)
{
    std::vector<std::string> gpus{std::string(find_hook("nvidia-devices")->executable), "--request", "env"};
    gpus.insert(gpus.end(), options.begin(), options.end());
    std::vector<HookFile> calls{hook_file_of(std::move(gpus))};
    const OurHook &libraries = *find_hook("ldcache-update");
    if (sysroot.find(libraries.executable))
        calls.push_back(hook_file_of({std::string(libraries.executable), "--request", "auto"}));
    return calls;
}

std::vector<std::string> left_to_do(bool has_amd)
{
    std::vector<std::string> said{"restart docker: it looks for " + quote(gpu_flag_path) + " when it starts",
                                  "whoever may use docker asks by: docker run --gpus all IMAGE, --gpus 2, or "
                                  "--gpus '\"device=any:1\"'"};
    if (has_amd)
        said.emplace_back(
            "AMD's GPUs are not given by --gpus, but by --device amd.com/gpu=0: see --cdi in amd-kfd(8)");
    return said;
}

} // namespace

InstallPlan plan_gpu_flag(const InstallHost &host, const InstallRequest &request)
{
    const std::vector<std::string> options = checked_options(host, request);
    refuse_vendors(*host.sysroot);
    const bool has_amd = has_gpus(*host.sysroot, "amd-kfd");
    if (has_amd && !has_gpus(*host.sysroot, "nvidia-devices"))
        throw Error(ErrorKind::BrokenHost,
                    "the GPUs of this host are AMD's, and docker takes what is written here for NVIDIA's: "
                    "have a CDI specification, see --cdi in amd-kfd(8), by which docker 29.3 and later take "
                    "--gpus too");
    const std::vector<HookFile> calls = calls_with(*host.sysroot, options);
    for (const HookFile &call : calls)
        refuse_wrong_options(*host.sysroot, call);
    const Engine none = request.kind->new_engine(host.sysroot);
    Engine engine = none;
    engine.directories.push_back({gpu_flag_path, true, "", calls});
    std::vector<std::string> said = checked_calls(engine, none);
    for (std::string &line : left_to_do(has_amd))
        said.push_back(std::move(line));
    PlannedFile script =
        planned_file(request, gpu_flag_path, gpu_flag_script(calls), "nvidia-devices", options);
    script.mode = executable_mode;
    return {{std::move(script)}, std::move(said)};
}

} // namespace ogh::admin
