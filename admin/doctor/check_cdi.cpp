// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/path_names.h"
#include "base/text.h"
#include "cdi/spec_directories.h"
#include "doctor/checks.h"

namespace ogh::admin {

namespace {

/** @param is_used in another way: it calls hooks without CDI */
Finding check_switch(const EngineKind &kind, const std::string &settings, bool has_specs, bool is_used)
{
    const CdiSwitch &cdi = *kind.cdi;
    if (!has_specs)
        return {Severity::Note,
                is_used ? "no CDI specification of this collection is there"
                        : "it calls no hooks by itself, and no CDI specification of this collection is there",
                ""};
    if (settings.find(cdi.on) != std::string::npos)
        return {Severity::Ok, "it gives the devices of the CDI specifications", ""};
    if (settings.find(cdi.off) != std::string::npos)
        return {Severity::Error, "CDI is switched off: it gives nothing of what the specifications name",
                cdi.remedy};
    return {Severity::Note, "CDI is not switched on, which only later versions do by themselves", cdi.remedy};
}

Section check_engine_with_cdi(const Sysroot &sysroot, const EngineKind &kind, bool has_specs, bool is_used)
{
    Section section{kind.name, {}};
    try {
        for (const std::string &file : kind.configuration(sysroot)) {
            const std::string settings = read_settings(sysroot, file);
            section.findings.push_back(check_switch(kind, settings, has_specs, is_used));
            add(section.findings, check_runtimes(settings, file));
        }
    } catch (const Error &error) {
        section.findings.push_back({Severity::Error, error.what(), "fix the file"});
    }
    return section;
}

bool is_of_gpus(const std::string &kind)
{
    return kind.starts_with("nvidia.com/") || kind.starts_with("amd.com/") ||
           kind.find("gpu") != std::string::npos;
}

/** All that the specification has called, for one of its devices or for each. */
std::vector<cdi::SpecHook> hooks_of(const cdi::Spec &spec)
{
    std::vector<cdi::SpecHook> hooks = spec.edits.hooks;
    for (const cdi::Device &device : spec.devices)
        hooks.insert(hooks.end(), device.edits.hooks.begin(), device.edits.hooks.end());
    return hooks;
}

bool is_ours(const cdi::SpecFile &file)
{
    const std::vector<cdi::SpecHook> hooks = hooks_of(file.spec);
    return std::any_of(hooks.begin(), hooks.end(), [](const cdi::SpecHook &hook) {
        return find_hook(file_name_of(hook.path)) != nullptr;
    });
}

std::string what_it_has(const cdi::SpecFile &file)
{
    return std::to_string(file.spec.devices.size()) + " devices of " + quote(file.spec.kind);
}

Findings check_ours(const std::shared_ptr<const Sysroot> &sysroot, const cdi::SpecFile &file)
{
    Engine engine;
    engine.host = engine.sysroot = sysroot;
    Findings findings;
    std::set<std::string> seen;
    for (const cdi::SpecHook &hook : hooks_of(file.spec)) {
        HookFile called;
        called.path = file.path;
        called.executable = hook.path;
        called.ours = find_hook(file_name_of(hook.path));
        if (called.ours != nullptr && seen.insert(hook.path).second)
            add(findings, check_executable(engine, called));
    }
    if (findings.empty())
        findings.push_back({Severity::Ok,
                            quote(file.path) + ": " + what_it_has(file) + ", by the hooks of this collection",
                            ""});
    return findings;
}

/** @param ours the kinds that specifications of ours have: engines would take such devices from here, or from neither */
Findings check_other(const cdi::SpecFile &file, const std::set<std::string> &ours)
{
    const bool is_rival = ours.contains(file.spec.kind);
    if (!is_rival && file.spec.kind.starts_with("k8s."))
        return {{Severity::Note,
                 quote(file.path) + " has " + what_it_has(file) +
                     ", of a driver of Kubernetes: kubelet names them to the engine",
                 ""}};
    if (!is_rival && !is_of_gpus(file.spec.kind))
        return {};
    return {{is_rival ? Severity::Error : Severity::Warning,
             quote(file.path) + " has " + what_it_has(file) +
                 (is_rival ? ", as a specification has that calls the hooks" : "") +
                 ": whoever may name one to an engine gets it past the hooks, their policy and their leases",
             is_rival ? "remove one of them: rm " + printable(file.path)
                      : "remove it, if the hooks alone are to give GPUs"}};
}

/** @param ours the kinds of devices by hooks of this collection */
Findings check_specs(const std::shared_ptr<const Sysroot> &sysroot, std::set<std::string> &ours)
{
    Findings findings;
    Notes notes;
    const auto files = cdi::read_directories(*sysroot, cdi::default_directories, {}, notes);
    for (const Note &note : notes)
        findings.push_back({Severity::Warning, note.text, "fix the file, or remove it"});
    for (const cdi::SpecFile &file : files)
        if (is_ours(file))
            ours.insert(file.spec.kind);
    for (const cdi::SpecFile &file : files)
        add(findings, is_ours(file) ? check_ours(sysroot, file) : check_other(file, ours));
    return findings;
}

} // namespace

std::vector<std::string> specs_that_call_hooks(const Sysroot &sysroot)
{
    std::vector<std::string> paths;
    Notes notes;
    for (const cdi::SpecFile &file : cdi::read_directories(sysroot, cdi::default_directories, {}, notes))
        if (is_ours(file))
            paths.push_back(file.path);
    return paths;
}

std::vector<Section> check_cdi(const std::shared_ptr<const Sysroot> &sysroot,
                               const std::vector<Engine> &engines)
{
    Section specs{"CDI", {}};
    std::set<std::string> ours;
    try {
        specs.findings = check_specs(sysroot, ours);
    } catch (const Error &error) {
        specs.findings.push_back({Severity::Error, error.what(), "fix the directory"});
    }
    std::vector<Section> sections;
    for (const EngineKind *const kind : engine_kinds())
        if (kind->cdi && kind->is_installed(*sysroot))
            sections.push_back(
                check_engine_with_cdi(*sysroot, *kind, !ours.empty(), is_among(engines, *kind)));
    sections.push_back(std::move(specs));
    return sections;
}

} // namespace ogh::admin
