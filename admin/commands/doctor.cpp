// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
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
std::optional<Section> check_wrappers(const Sysroot &sysroot)
{
    Section section{"runc", {}};
    try {
        for (const std::string &sentence : wrapped_runtimes(sysroot))
            section.findings.push_back({Severity::Warning, sentence, "oci-gpu-hooks unwrap"});
    } catch (const Error &error) {
        section.findings.push_back({Severity::Note, error.what(), "run this again, as root"});
    }
    return section.findings.empty() ? std::nullopt : std::optional(std::move(section));
}

std::vector<Section> examine(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<Section> sections{check_host(*sysroot)};
    const std::vector<Engine> engines = find_engines(sysroot);
    for (const Engine &engine : engines)
        sections.push_back(check_engine(engine, when_unused(engine, engines)));
    if (auto section = check_wrappers(*sysroot))
        sections.push_back(std::move(*section));
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
    if (auto section = check_written(*sysroot, engines))
        sections.push_back(std::move(*section));
    const std::vector<InstalledHook> hooks = installed_hooks(*sysroot, engines);
    if (auto section = check_devices(*sysroot, hooks))
        sections.push_back(std::move(*section));
    for (Section &section : check_cdi(sysroot, engines))
        sections.push_back(std::move(section));
    return sections;
}

} // namespace

int doctor(int argc, const char *const *argv)
{
    CommandOptions options;
    bool as_json = false;
    CommandLine cli("oci-gpu-hooks doctor",
                    "Whether engines call the hooks, with which policy, and what is wrong.", page);
    cli.add_choice({"--format", "NAME", "text or json (default: text)"}, {"text", "json"},
                   [&](const std::string &name) { as_json = name == "json"; });
    if (!parse(cli, options, argc, argv))
        return EXIT_SUCCESS;
    const std::vector<Section> sections = examine(options.open());
    print(as_json ? to_json(sections) : to_text(sections, ::isatty(STDOUT_FILENO) != 0));
    return exit_status(sections);
}

} // namespace ogh::admin
