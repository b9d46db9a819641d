// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_cdi.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "doctor/check_hook_file.h"
#include "doctor/check_vendors.h"
#include "engines/cdi_files.h"

namespace ogh::admin {

namespace {

Finding check_switch(const CdiSwitch &cdi, const std::string &settings, bool has_ours)
{
    if (!has_ours)
        return {Severity::Note,
                "it calls no hooks by itself, and no CDI specification of this collection is there", ""};
    if (settings.find(cdi.on) != std::string::npos)
        return {Severity::Ok, "it gives the devices of the CDI specifications", ""};
    if (settings.find(cdi.off) != std::string::npos)
        return {Severity::Error, "CDI is switched off: it gives nothing of what the specifications name",
                cdi.remedy};
    return {Severity::Note, "CDI is not switched on, which only later versions do by themselves", cdi.remedy};
}

Section check_engine_with_cdi(const Sysroot &sysroot, const EngineKind &kind, bool has_ours)
{
    Section section{kind.name(), {}};
    try {
        for (const std::string &file : kind.configuration(sysroot)) {
            const std::string settings = read_settings(sysroot, file);
            section.findings.push_back(check_switch(*kind.cdi(), settings, has_ours));
            add(section.findings, check_runtimes(settings, file));
        }
    } catch (const Error &error) {
        section.findings.push_back({Severity::Error, error.what(), "mend the file"});
    }
    return section;
}

bool is_of_gpus(const std::string &kind)
{
    return kind.starts_with("nvidia.com/") || kind.starts_with("amd.com/") ||
           kind.find("gpu") != std::string::npos;
}

Findings check_ours(const std::shared_ptr<const Sysroot> &sysroot, const CdiSpec &spec)
{
    Engine engine;
    engine.host = engine.sysroot = sysroot;
    Findings findings;
    std::set<std::string> seen;
    for (const HookFile &hook : spec.hooks)
        if (hook.ours != nullptr && seen.insert(hook.executable).second)
            add(findings, check_executable(engine, hook));
    if (findings.empty())
        findings.push_back({Severity::Ok,
                            quote(spec.path) + ": " + std::to_string(spec.devices) + " devices of " +
                                quote(spec.kind) + ", by the hooks of this collection",
                            ""});
    return findings;
}

/** @param ours the kinds that specifications of ours have: engines would take such devices from here, or from neither */
Findings check_other(const CdiSpec &spec, const std::set<std::string> &ours)
{
    const bool is_rival = ours.contains(spec.kind);
    if (!is_rival && !is_of_gpus(spec.kind))
        return {};
    return {{is_rival ? Severity::Error : Severity::Warning,
             quote(spec.path) + " has " + std::to_string(spec.devices) + " devices of " + quote(spec.kind) +
                 (is_rival ? ", as a specification has that calls the hooks" : "") +
                 ": whoever may name one to an engine gets it past the hooks, their policy and their leases",
             is_rival ? "remove one of them: rm " + printable(spec.path)
                      : "remove it, if the hooks alone are to give GPUs"}};
}

Section check_specs(const std::shared_ptr<const Sysroot> &sysroot, const std::vector<CdiSpec> &specs)
{
    Section section{"CDI", {}};
    std::set<std::string> ours;
    for (const CdiSpec &spec : specs)
        if (spec.is_ours())
            ours.insert(spec.kind);
    for (const CdiSpec &spec : specs)
        if (!spec.problem.empty())
            section.findings.push_back({Severity::Warning,
                                        spec.problem + "; engines pass over what they cannot read",
                                        "mend the file, or remove it"});
        else
            add(section.findings, spec.is_ours() ? check_ours(sysroot, spec) : check_other(spec, ours));
    return section;
}

} // namespace

std::vector<Section> check_cdi(const std::shared_ptr<const Sysroot> &sysroot)
{
    Section section{"CDI", {}};
    std::vector<CdiSpec> specs;
    try {
        specs = read_cdi_files(*sysroot);
        section = check_specs(sysroot, specs);
    } catch (const Error &error) {
        section.findings.push_back({Severity::Error, error.what(), "mend the folder"});
    }
    const bool has_ours =
        std::any_of(specs.begin(), specs.end(), [](const CdiSpec &spec) { return spec.is_ours(); });
    std::vector<Section> sections;
    for (const EngineKind *const kind : engine_kinds())
        if (kind->cdi() != nullptr && kind->is_installed(*sysroot))
            sections.push_back(check_engine_with_cdi(*sysroot, *kind, has_ours));
    if (!section.findings.empty())
        sections.push_back(std::move(section));
    return sections;
}

} // namespace ogh::admin
