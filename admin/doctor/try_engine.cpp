// SPDX-License-Identifier: Apache-2.0
#include "doctor/try_engine.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "build_config.h"
#include "engines/programs.h"
#include "engines/trial.h"
#include "engines/trial_folder.h"
#include "registration/policy_words.h"

namespace ogh::admin {

namespace {

constexpr std::array known_engines{"podman", "runc", "crun"};

/** No hook knows it, and each that is called ends with exit status 2 for it. */
constexpr const char *refused_key = "io.oci-gpu-hooks.doctor-try";

std::string in_words(const std::string &output)
{
    std::string words;
    for (const std::string &line : split_list(output, '\n'))
        if (!line.empty())
            words += (words.empty() ? "" : ", ") + quote(line);
    return words.empty() ? "nothing" : words;
}

/** @return whether it is worth going on */
bool try_nothing(const TrialEngine &engine, Findings &findings)
{
    const ProgramOutput output = start_trial(engine, {});
    if (output.exit_status == 0) {
        findings.push_back(
            {Severity::Ok, "a container that asks for nothing starts, and has " + in_words(output.out), ""});
        return true;
    }
    findings.push_back(
        {Severity::Error, "a container that asks for nothing does not start: " + quote(last_line(output.err)),
         "see to it that " + engine.name + " starts containers at all, and what 'doctor' says"});
    return false;
}

bool try_refusal(const TrialEngine &engine, Findings &findings)
{
    const ProgramOutput output = start_trial(engine, {{refused_key, "1"}});
    if (output.exit_status == 0) {
        findings.push_back({Severity::Error,
                            "no hook was called: a container with the key '" + std::string(refused_key) +
                                "', which every hook refuses, has started",
                            "see what 'oci-gpu-hooks doctor' says of " + engine.name});
        return false;
    }
    findings.push_back(
        {Severity::Ok,
         "the hooks are called: one has refused a key that it does not know: " + quote(last_line(output.err)),
         ""});
    return true;
}

/** What a container can be given now, without anybody's lease. */
std::map<std::string, std::string> possible_requests(const Sysroot &host,
                                                     const std::vector<InstalledHook> &hooks)
{
    std::map<std::string, std::string> requests;
    for (InstalledHook hook : hooks) {
        const std::string name(hook.hook->name);
        if (name == "ldcache-update")
            continue;
        const std::string value = hook.hook->gives_gpus ? "any:1" : "all";
        hook.options = policy_options(hook.options);
        if (run_hook(host, hook, {"--plan", "--request", value}).exit_status == 0)
            requests["io.oci-gpu-hooks." + name] = value;
    }
    return requests;
}

void try_gifts(const Sysroot &host, const TrialEngine &engine, Findings &findings)
{
    const auto requests = possible_requests(host, engine.hooks);
    std::string words;
    for (const auto &[key, value] : requests)
        words.append(words.empty() ? "" : ", ").append(quote(std::string(key).append("=").append(value)));
    if (requests.empty())
        return;
    const ProgramOutput output = start_trial(engine, requests);
    if (output.exit_status == 0)
        findings.push_back(
            {Severity::Ok, "a container that asks for " + words + " is given " + in_words(output.out), ""});
    else
        findings.push_back(
            {Severity::Error,
             "a container that asks for " + words + " does not start: " + quote(last_line(output.err)),
             "the hook's message is in the log of the host: journalctl -t nvidia-devices -t amd-kfd "
             "-t mount-srv"});
}

std::vector<InstalledHook> each_once(const std::vector<InstalledHook> &hooks)
{
    std::vector<InstalledHook> kept;
    for (const InstalledHook &hook : hooks)
        if (kept.empty() || kept.back().hook != hook.hook)
            kept.push_back(hook);
    return kept;
}

Section try_one(const Sysroot &host, const TrialEngine &engine)
{
    Section section{engine.name, {}};
    try {
        const auto goes_on = [] { return !SignalsWait::is_one_waiting(); };
        if (try_nothing(engine, section.findings) && goes_on() && try_refusal(engine, section.findings) &&
            goes_on())
            try_gifts(host, engine, section.findings);
    } catch (const Error &error) {
        section.findings.push_back({Severity::Error, error.what(), "mend that, and try again"});
    }
    return section;
}

} // namespace

std::vector<Section> try_engines(const Sysroot &host, const std::vector<InstalledHook> &hooks,
                                 const std::vector<std::string> &wanted)
{
    if (OGH_STATIC == 0)
        throw Error(ErrorKind::Usage,
                    "--try needs a static build: a copy of this program is the container's");
    for (const std::string &name : wanted)
        if (std::find(known_engines.begin(), known_engines.end(), name) == known_engines.end())
            throw Error(ErrorKind::Usage,
                        quote(name) + " cannot be tried; there are 'podman', 'runc', 'crun'");
    std::vector<Section> sections;
    for (const std::string name : known_engines) {
        const auto path = find_program(host, name);
        auto program = path ? open_program(*path) : std::nullopt;
        const bool is_wanted =
            wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
        if (program && is_wanted && !SignalsWait::is_one_waiting())
            sections.push_back(try_one(host, {name, std::move(*program), each_once(hooks)}));
    }
    if (sections.empty())
        throw Error(ErrorKind::BrokenHost, "there is no engine here that can be tried: podman, runc, crun");
    return sections;
}

} // namespace ogh::admin
