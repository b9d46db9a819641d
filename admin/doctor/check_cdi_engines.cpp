// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "doctor/check_cdi.h"
#include "doctor/check_vendors.h"
#include "engines/engine.h"

namespace ogh::admin {

namespace {

Findings check_option(const CdiUse &option, const std::vector<CdiSpec> &ours)
{
    if (ours.empty())
        return {{Severity::Note,
                 "it calls no hooks by itself, and no CDI specification of this collection is there", ""}};
    if (option.enabled == false)
        return {{Severity::Error, "CDI is switched off: it gives nothing of what the specifications name",
                 option.remedy}};
    if (!option.enabled && !option.is_on_by_default)
        return {{Severity::Warning, "CDI is not switched on, which not every version does by itself",
                 option.remedy}};
    Findings findings;
    for (const CdiSpec &spec : ours) {
        const std::string folder = folder_of(spec.path);
        const auto &read = option.folders;
        if (read && std::find(read->begin(), read->end(), folder) == read->end())
            findings.push_back(
                {Severity::Error,
                 quote(spec.path) + " is in none of the folders that it reads: " + quote_list(*read),
                 "put the file into one of these"});
    }
    if (findings.empty())
        findings.push_back({Severity::Ok, "it gives the devices of the CDI specifications", ""});
    return findings;
}

std::vector<CdiSpec> specs_of_ours(const Sysroot &sysroot, const CdiUse &option)
{
    std::vector<std::string> folders = default_cdi_folders;
    if (option.folders)
        folders.insert(folders.end(), option.folders->begin(), option.folders->end());
    std::vector<CdiSpec> specs = read_cdi_files(sysroot, folders);
    specs.erase(
        std::remove_if(specs.begin(), specs.end(), [](const CdiSpec &spec) { return !spec.is_ours(); }),
        specs.end());
    return specs;
}

/** @return nothing of an engine that has hooks called by other ways than CDI */
std::optional<Section> check(const Sysroot &sysroot, const EngineKind &kind)
{
    Section section{kind.name(), {}};
    try {
        const auto use = kind.cdi(sysroot);
        if (!use)
            return std::nullopt;
        add(section.findings, check_option(*use, specs_of_ours(sysroot, *use)));
        for (const Runtimes &runtimes : kind.runtimes(sysroot))
            add(section.findings, check_runtimes(runtimes));
    } catch (const Error &error) {
        section.findings.push_back(
            {Severity::Error, error.what(), "mend the file: " + section.title + " does not start like this"});
    }
    return section;
}

} // namespace

std::vector<Section> check_cdi_engines(const Sysroot &sysroot)
{
    std::vector<Section> sections;
    for (const EngineKind *const kind : engine_kinds())
        if (kind->is_installed(sysroot))
            if (auto section = check(sysroot, *kind))
                sections.push_back(std::move(*section));
    return sections;
}

} // namespace ogh::admin
