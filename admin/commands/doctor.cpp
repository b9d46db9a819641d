// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "commands/command.h"
#include "doctor/checks.h"
#include "engines/engine.h"
#include "engines/installed_hooks.h"
#include "report/report.h"

namespace ogh::admin {

namespace {

/** A worker of Concourse's may have podman beside it that nobody gives GPUs by. */
Severity when_unused(const Engine &engine, const std::vector<Engine> &all)
{
    const auto is_worker = [](const Engine &other) {
        return other.kind == &concourse_kind() && calls_hooks(other);
    };
    const bool is_one = engine.kind == &concourse_kind();
    return !is_one && std::any_of(all.begin(), all.end(), is_worker) ? Severity::Note : Severity::Warning;
}

/** A wrapper changes what containers get, beside the hooks or in their place. */
Section check_wrappers(const Sysroot &sysroot)
{
    Section section{"runc", {}};
    try {
        for (const std::string &sentence : wrapped_runtimes(sysroot))
            section.findings.push_back({Severity::Warning, sentence, "oci-gpu-hooks unwrap"});
    } catch (const Error &error) {
        section.findings.push_back({Severity::Note, error.what(), "run this again, as root"});
    }
    return section;
}

std::vector<Section> examine(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<Section> sections{check_host(*sysroot)};
    const std::vector<Engine> engines = find_engines(sysroot);
    for (const Engine &engine : engines)
        sections.push_back(check_engine(engine, when_unused(engine, engines)));
    sections.push_back(check_wrappers(*sysroot));
    if (engines.empty())
        sections.push_back(
            {"engines",
             {{Severity::Note, "there is no engine that reads files of hooks",
               "for runc and crun alone the hooks go into config.json, see oci-gpu-hooks(7)"}}});
    for (const EngineKind *const kind : engine_kinds()) {
        if (kind->notes == nullptr)
            continue;
        for (Section &section : kind->notes(*kind, *sysroot, is_among(engines, *kind)))
            sections.push_back(std::move(section));
    }
    sections.push_back(check_written(*sysroot, engines));
    sections.push_back(check_devices(*sysroot, installed_hooks(*sysroot, engines)));
    for (Section &section : check_cdi(sysroot, engines))
        sections.push_back(std::move(section));
    std::erase_if(sections, [](const Section &section) { return section.findings.empty(); });
    return sections;
}

} // namespace

int doctor(CommandLine &cli, Invocation &call)
{
    bool as_json = false;
    cli.add_choice({"--format", "NAME", "text or json (default: text)"}, {"text", "json"},
                   [&](const std::string &name) { as_json = name == "json"; });
    if (!call.parse())
        return EXIT_SUCCESS;
    const std::vector<Section> sections = examine(call.open());
    print(as_json ? to_json(sections) : to_text(sections, ::isatty(STDOUT_FILENO) != 0));
    return exit_status(sections);
}

} // namespace ogh::admin
