// SPDX-License-Identifier: Apache-2.0
#include "doctor/try_engine.h"

#include <algorithm>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "build_config.h"
#include "engines/programs.h"
#include "engines/trial.h"
#include "registration/policy_words.h"

namespace ogh::admin {

namespace {

std::vector<std::string> known_engines()
{
    std::vector<std::string> names;
    for (const TrialKind &kind : trial_kinds())
        names.emplace_back(kind.name);
    return names;
}

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

/** @param asked what the container asks for, in words; @param has what follows, if it starts, before what it has */
Finding try_start(const TrialEngine &engine, const std::map<std::string, std::string> &annotations,
                  const std::string &asked, const std::string &has, const std::string &remedy)
{
    const ProgramOutput output = start_trial(engine, annotations);
    const std::string text = "a container that asks for " + asked;
    if (output.exit_status == 0 && output.out.find(cannot_be_opened) == std::string::npos)
        return {Severity::Ok, text + has + in_words(output.out), ""};
    if (output.exit_status == 0)
        return {Severity::Error, text + has + in_words(output.out),
                "what cannot be opened is of no use there: 'No such device' is a driver that is not loaded "
                "(modprobe "
                "nvidia-uvm, modprobe amdgpu), 'Operation not permitted' a rule of the container's cgroup"};
    return {Severity::Error, text + " does not start: " + quote(last_line(output.err)), remedy};
}

Finding try_refusal(const TrialEngine &engine)
{
    const ProgramOutput output = start_trial(engine, {{refused_key, "1"}});
    if (output.exit_status == 0)
        return {Severity::Error,
                "no hook was called: a container with the annotation '" + std::string(refused_key) +
                    "', which every hook refuses, has started",
                "see what 'oci-gpu-hooks doctor' says of " + std::string(engine.kind->name)};
    return {Severity::Ok,
            "the hooks are called: one has refused an annotation that it does not know: " +
                quote(last_line(output.err)),
            ""};
}

/** What a container can be given now, without anybody's lease. */
std::map<std::string, std::string> possible_requests(const Sysroot &host,
                                                     const std::vector<InstalledHook> &hooks)
{
    std::map<std::string, std::string> requests;
    for (InstalledHook hook : hooks) {
        const std::string value = hook.hook->gives_gpus ? "any:1" : "all";
        hook.options = policy_options(hook.options);
        if (hook.hook->name != "ldcache-update" &&
            run_hook(host, hook, {"--plan", "--request", value}).exit_status == 0)
            requests["io.oci-gpu-hooks." + std::string(hook.hook->name)] = value;
    }
    return requests;
}

/** One after the other, as long as all is well and no signal waits. */
Section try_one(const Sysroot &host, const TrialEngine &engine)
{
    const std::string name = engine.kind->name;
    Section section{name, {}};
    Findings &findings = section.findings;
    const auto goes_on = [&] {
        return findings.back().severity == Severity::Ok && !SignalsWait::is_one_waiting();
    };
    try {
        findings.push_back(
            try_start(engine, {}, "nothing", " starts, and has ",
                      "see to it that " + name + " starts containers at all, and what 'doctor' says"));
        if (goes_on())
            findings.push_back(try_refusal(engine));
        const auto requests =
            goes_on() ? possible_requests(host, engine.hooks) : std::map<std::string, std::string>{};
        std::vector<std::string> asked;
        asked.reserve(requests.size());
        for (const auto &[key, value] : requests)
            asked.push_back(std::string(key).append("=").append(value));
        if (!requests.empty())
            findings.push_back(try_start(engine, requests, quote_list(asked), " is given ",
                                         "the hook's message is in the log of the host: journalctl -t "
                                         "nvidia-devices -t amd-kfd -t mount-srv"));
    } catch (const std::exception &error) {
        findings.push_back({Severity::Error, error.what(), "fix that, and try again"});
    }
    return section;
}

} // namespace

std::vector<Section> try_engines(const Sysroot &host, std::vector<InstalledHook> hooks,
                                 const std::vector<std::string> &wanted)
{
    if (OGH_STATIC == 0)
        throw Error(ErrorKind::Usage,
                    "--try needs a static build: a copy of this program is the container's");
    for (const std::string &name : wanted)
        if (!contains(known_engines(), name))
            throw Error(ErrorKind::Usage,
                        quote(name) + " cannot be tried; there are " + quote_list(known_engines()));
    const auto is_same = [](const InstalledHook &one, const InstalledHook &other) {
        return one.hook == other.hook; // called with other options
    };
    hooks.erase(std::unique(hooks.begin(), hooks.end(), is_same), hooks.end());
    std::vector<Section> sections;
    for (const TrialKind &kind : trial_kinds()) {
        const bool is_wanted = wanted.empty() || contains(wanted, kind.name);
        const auto path = find_program(host, kind.name);
        auto program = path ? open_program(*path) : std::nullopt;
        if (program && is_wanted && !SignalsWait::is_one_waiting())
            sections.push_back(try_one(host, {&kind, std::move(*program), hooks}));
    }
    if (sections.empty())
        throw Error(ErrorKind::BrokenHost,
                    "there is no engine here that can be tried: " + quote_list(known_engines()));
    return sections;
}

} // namespace ogh::admin
