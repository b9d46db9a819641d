// SPDX-License-Identifier: Apache-2.0
#include "commands/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"
#include "doctor/check_cdi.h"
#include "doctor/check_containers.h"
#include "doctor/check_devices.h"
#include "doctor/check_engine.h"
#include "doctor/check_executable.h"
#include "doctor/check_host.h"
#include "doctor/try_engine.h"
#include "engines/concourse.h"
#include "engines/engines.h"
#include "engines/installed_hooks.h"
#include "engines/trial_folder.h"
#include "report/report.h"

namespace ogh::admin {

namespace {

std::vector<Section> examine(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<Section> sections{check_host(*sysroot)};
    const std::vector<Engine> engines = find_engines(sysroot);
    for (const Engine &engine : engines)
        sections.push_back(check_engine(engine));
    const bool has_worker = std::any_of(engines.begin(), engines.end(),
                                        [](const Engine &engine) { return engine.name == "concourse"; });
    if (!has_worker && is_concourse_installed(*sysroot))
        sections.push_back({"concourse",
                            {{Severity::Note, "it is installed, and no worker of it runs",
                              "start the worker: which folder of hooks it reads is known only then"}}});
    if (engines.empty())
        sections.push_back(
            {"engines",
             {{Severity::Note, "there is no engine that reads files of hooks",
               "for runc and crun alone the hooks go into config.json, see oci-gpu-hooks(7)"}}});
    const std::vector<InstalledHook> hooks = runnable_hooks(sysroot, installed_hooks(*sysroot, engines));
    if (auto section = check_devices(*sysroot, hooks))
        sections.push_back(std::move(*section));
    for (Section &section : check_cdi_engines(*sysroot))
        sections.push_back(std::move(section));
    if (auto section = check_cdi(sysroot))
        sections.push_back(std::move(*section));
    if (auto section = check_containers(*sysroot, hooks, ""))
        sections.push_back(std::move(*section));
    return sections;
}

/** One container alone, by the beginning of its id. */
std::vector<Section> examine_container(const std::shared_ptr<const Sysroot> &sysroot, const std::string &id)
{
    std::vector<Section> sections;
    const auto hooks = runnable_hooks(sysroot, installed_hooks(*sysroot, find_engines(sysroot)));
    if (auto section = check_containers(*sysroot, hooks, id))
        sections.push_back(std::move(*section));
    return sections;
}

std::vector<Section> try_all(const std::shared_ptr<const Sysroot> &sysroot,
                             const std::vector<std::string> &wanted)
{
    if (sysroot->on_host("/") != "/")
        throw Error(ExitCode::Usage, "--try starts containers on this host, and --sysroot names another one");
    return try_engines(*sysroot, runnable_hooks(sysroot, installed_hooks(*sysroot, find_engines(sysroot))),
                       wanted);
}

} // namespace

int doctor(int argc, const char *const *argv)
{
    CommandOptions options;
    bool as_json = false;
    bool tries = false;
    std::vector<std::string> words;
    CommandLine cli("oci-gpu-hooks doctor",
                    "Whether engines call the hooks, with which policy, and what is wrong.", page);
    cli.add_choice({"--format", "NAME", "text or json (default: text)"}, {"text", "json"},
                   [&](const std::string &name) { as_json = name == "json"; });
    cli.add_flag("--try",
                 "Start containers with podman, runc and crun, or those that are named, and remove them",
                 tries);
    cli.add_words("CONTAINER", "The beginning of a container's id: of that one alone; with --try an engine",
                  words);
    if (!parse(cli, options, argc, argv))
        return EXIT_SUCCESS;
    if (words.size() > 1 && !tries)
        throw Error(ExitCode::Usage, "one container at a time, and not " + quote_list(words));
    const auto sysroot = options.open();
    std::vector<Section> sections;
    if (tries) {
        const SignalsWait until_all_is_removed;
        sections = try_all(sysroot, words);
    } else {
        sections = words.empty() ? examine(sysroot) : examine_container(sysroot, words.front());
    }
    print(as_json ? to_json(sections) : to_text(sections, ::isatty(STDOUT_FILENO) != 0));
    return exit_status(worst(sections));
}

} // namespace ogh::admin
