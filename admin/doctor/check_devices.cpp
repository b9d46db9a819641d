// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_devices.h"

#include <algorithm>

#include "base/error.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "doctor/check_given_gpus.h"
#include "doctor/check_labels.h"
#include "engines/drivers.h"
#include "registration/policy_words.h"

namespace ogh::admin {

namespace {

ProgramOutput ask(const Sysroot &sysroot, InstalledHook hook, const std::string &request)
{
    hook.options = policy_options(hook.options);
    return run_hook(sysroot, hook, {"--plan", "--request", request});
}

InstalledHook without_allow(InstalledHook hook)
{
    std::vector<std::string> kept;
    for (size_t i = 0; i < hook.options.size(); ++i) {
        if (hook.options[i] == "--allow")
            ++i; // its value
        else if (!hook.options[i].starts_with("--allow="))
            kept.push_back(hook.options[i]);
    }
    hook.options = std::move(kept);
    return hook;
}

bool has_nothing(const ProgramOutput &output)
{
    return output.exit_status == static_cast<int>(ExitStatus::NotAvailable);
}

/** Each is asked for by itself: what matches nothing is no error in a list of what is allowed. */
Findings check_allowed(const Sysroot &sysroot, const InstalledHook &hook)
{
    Findings findings;
    const auto allowed = option_of(hook_file(hook), "--allow");
    const InstalledHook free = without_allow(hook);
    if (!allowed || (hook.hook->gives_gpus && has_nothing(ask(sysroot, free, "any:1"))))
        return findings; // a host may have no GPU of that vendor's, whatever its file allows
    for (const std::string &name : split_list(*allowed)) {
        const ProgramOutput output = ask(sysroot, free, name);
        if (has_nothing(output))
            findings.push_back({Severity::Error,
                                title_of(hook) + ": --allow names " + quote(name) +
                                    ", which there is not: " + message_of(hook, output),
                                "mend --allow in 'args' of its file"});
    }
    return findings;
}

/** Whether the next container that asks for one GPU is given it. */
Findings check_one_gpu(const Sysroot &sysroot, const InstalledHook &hook)
{
    if (!hook.hook->gives_gpus)
        return {};
    const ProgramOutput output = ask(sysroot, hook, "any:1");
    if (output.exit_status == static_cast<int>(ExitStatus::BrokenHost))
        return {{Severity::Error, std::string(hook.hook->name) + ": " + message_of(hook, output),
                 "see " + std::string(hook.hook->name) + "(8)"}};
    if (output.exit_status == static_cast<int>(ExitStatus::Success))
        return {{Severity::Ok, title_of(hook) + ": a container that asks for a GPU is given one", ""}};
    return {};
}

/** A GPU that no container can be given, for want of its driver. */
Findings check_bound(const Sysroot &sysroot)
{
    Findings findings;
    for (const PciGpu &gpu : pci_gpus(sysroot)) {
        const std::string wanted = gpu.vendor == nvidia_vendor ? "nvidia" : "amdgpu";
        if (gpu.driver == wanted)
            continue;
        findings.push_back(
            {Severity::Warning,
             "the GPU at " + gpu.address + " is " +
                 (gpu.driver.empty() ? "bound to no driver" : "bound to " + quote(gpu.driver)) +
                 " and not to " + wanted,
             gpu.driver == "vfio-pci" ? "leave it, if it is for a virtual machine"
                                      : "install the driver, and load it: modprobe " + wanted});
    }
    return findings;
}

Findings check_nvidia(const Sysroot &sysroot)
{
    Findings findings;
    const auto module = nvidia_module_version(sysroot);
    if (!module)
        return findings;
    const std::vector<std::string> files = nvidia_file_versions(sysroot);
    if (!files.empty() && std::find(files.begin(), files.end(), *module) == files.end())
        findings.push_back({Severity::Error,
                            "the module nvidia is " + *module + ", and the driver's files are " +
                                quote_list(files) + ": no program can use the GPUs",
                            "load the module of that version, which a restart of the host does"});
    for (const char *const node : {"/dev/nvidiactl", "/dev/nvidia-uvm"})
        if (!sysroot.find(node))
            findings.push_back(
                {Severity::Note,
                 "there is no " + std::string(node) +
                     ": rootless engines and programs of the host need it, other containers get one",
                 "nvidia-modprobe -c 0 -u"});
    return findings;
}

Findings check_amd(const Sysroot &sysroot)
{
    const std::vector<PciGpu> gpus = pci_gpus(sysroot);
    const bool is_driven =
        std::any_of(gpus.begin(), gpus.end(), [](const PciGpu &gpu) { return gpu.driver == "amdgpu"; });
    if (!is_driven)
        return {};
    if (!sysroot.find("/sys/class/kfd/kfd"))
        return {{Severity::Error,
                 "amdgpu is loaded without KFD: there is no /sys/class/kfd/kfd, and nothing can compute",
                 "run a kernel with CONFIG_HSA_AMD, and see the log of the kernel for 'kfd'"}};
    if (!sysroot.find("/dev/kfd"))
        return {{Severity::Note,
                 "there is no /dev/kfd: rootless engines and programs of the host need it, other containers "
                 "get one",
                 "udevadm trigger /dev/kfd"}};
    return {};
}

} // namespace

std::optional<Section> check_devices(const Sysroot &sysroot, const std::vector<InstalledHook> &hooks)
{
    Section section{"GPUs and folders", {}};
    try {
        add(section.findings, check_bound(sysroot));
        add(section.findings, check_nvidia(sysroot));
        add(section.findings, check_amd(sysroot));
        for (const InstalledHook &hook : hooks) {
            add(section.findings, check_one_gpu(sysroot, hook));
            add(section.findings, check_allowed(sysroot, hook));
        }
        add(section.findings, check_given_gpus(sysroot, hooks));
        add(section.findings, check_labels(sysroot, hooks));
    } catch (const Error &error) {
        section.findings.push_back({Severity::Error, error.what(), "mend that, and run this again"});
    }
    return section.findings.empty() ? std::nullopt : std::optional(std::move(section));
}

} // namespace ogh::admin
