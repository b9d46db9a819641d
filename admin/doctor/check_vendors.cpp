// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_vendors.h"

#include "base/error.h"
#include "base/text.h"
#include "engines/document.h"
#include "host/systemd_units.h"
#include "registration/vendors.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

constexpr const char *refresh = "nvidia-cdi-refresh";

std::string past_the_policy(const VendorTool &tool)
{
    return "an image that sets " + std::string(tool.variable) + " gets GPUs past the hooks and their policy";
}

/** A file of the same folder as those of our hooks. */
Finding check_hook(const HookFile &file, const VendorTool &tool, const std::string &previous)
{
    return {Severity::Warning,
            quote(file.path) + " calls " + tool.vendor + "'s own hook " + quote(file.executable) +
                (previous.empty() ? ", before those of this collection" : ", after " + previous) + ": " +
                past_the_policy(tool),
            "remove the file, if the hooks of this collection are to give GPUs"};
}

/** Where a switch of it bears on who gets GPUs. */
Findings check_switch(const Sysroot &sysroot)
{
    constexpr const char *file = "/etc/nvidia-container-runtime/config.toml";
    const json document = read_document(sysroot, file).value_or(json::object());
    const json *const accepts =
        find_value(document, {"accept-nvidia-visible-devices-envvar-when-unprivileged"});
    if (accepts == nullptr || !accepts->is_boolean() || accepts->get<bool>())
        return {};
    return {{Severity::Note,
             quote(file) + " lets the variable of an image count in privileged containers alone", ""}};
}

} // namespace

Findings check_runtimes(const Runtimes &runtimes)
{
    Findings findings;
    for (const Runtimes::Named &each : runtimes.named) {
        const VendorTool *const tool = find_vendor_tool(each.executable);
        if (tool == nullptr)
            continue;
        const bool is_default = each.name == runtimes.by_default;
        findings.push_back({Severity::Warning,
                            quote(runtimes.file) + " has " + tool->vendor + "'s runtime " + quote(each.name) +
                                (is_default ? " for all containers: " : ": where it is asked for, ") +
                                past_the_policy(*tool),
                            is_default ? "have another runtime by default, and remove this one"
                                       : "remove it, if the hooks alone are to give GPUs"});
    }
    if (const VendorTool *const tool = find_vendor_tool(runtimes.by_default))
        findings.push_back({Severity::Warning,
                            quote(runtimes.file) + " has " + tool->vendor +
                                "'s runtime for all containers: " + past_the_policy(*tool),
                            "have another runtime"});
    return findings;
}

Findings check_vendors(const Engine &engine)
{
    Findings findings;
    std::string previous;
    for (const FileInForce &each : files_in_force(engine.folders)) {
        if (each.file->ours != nullptr)
            previous = each.file->ours->name;
        else if (const VendorTool *const tool = find_vendor_tool(each.file->executable))
            findings.push_back(check_hook(*each.file, *tool, previous));
    }
    try {
        for (const Runtimes &runtimes : engine.kind->runtimes(*engine.sysroot))
            add(findings, check_runtimes(runtimes));
        if (!findings.empty())
            add(findings, check_switch(*engine.sysroot));
    } catch (const Error &) {
        return findings; // of its own files the engine's section says more
    }
    return findings;
}

Findings check_vendor_units(const Sysroot &sysroot)
{
    for (const char *const suffix : {".path", ".service"})
        if (is_enabled_unit(sysroot, std::string(refresh) + suffix))
            return {{Severity::Warning,
                     "the unit " + std::string(refresh) + suffix +
                         " is enabled: it makes NVIDIA's CDI specification anew, with all GPUs",
                     "systemctl disable --now " + std::string(refresh) + ".path " + refresh + ".service"}};
    return {};
}

} // namespace ogh::admin
