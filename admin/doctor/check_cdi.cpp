// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_cdi.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "doctor/check_hook_file.h"
#include "registration/version_number.h"

namespace ogh::admin {

namespace {

bool is_of_gpus(const std::string &kind)
{
    return kind.starts_with("nvidia.com/") || kind.starts_with("amd.com/") ||
           kind.find("gpu") != std::string::npos;
}

/** Names that begin with a digit came with 0.5.0. */
std::optional<Finding> check_names(const CdiSpec &spec)
{
    const auto version = parse_version(spec.version);
    if (!version || *version >= VersionNumber{0, 5})
        return std::nullopt;
    const auto found = std::find_if(spec.devices.begin(), spec.devices.end(), [](const std::string &name) {
        return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) != 0;
    });
    if (found == spec.devices.end())
        return std::nullopt;
    return Finding{Severity::Error,
                   quote(spec.path) + " has cdiVersion " + quote(spec.version) + " and a device " +
                       quote(*found) +
                       ": names may begin with a digit since 0.5.0, and engines pass the file over",
                   R"(write "cdiVersion": "0.5.0")"};
}

Findings check_hook(const std::shared_ptr<const Sysroot> &sysroot, const HookFile &hook)
{
    Engine engine;
    engine.host = engine.sysroot = sysroot;
    Findings findings = check_executable(engine, hook);
    if (hook.stages != std::vector<std::string>{"createRuntime"})
        findings.push_back({Severity::Error,
                            quote(hook.path) + " calls " + quote(hook.ours->name) +
                                " at another stage than createRuntime: it cannot do its work",
                            R"(write "hookName": "createRuntime")"});
    if (!option_of(hook, "--request") && hook.ours->name != "ldcache-update")
        findings.push_back({Severity::Warning,
                            quote(hook.path) + " calls " + quote(hook.ours->name) +
                                " without --request: the name of the device asks for nothing",
                            "write what it stands for into 'args', or make the file again by --cdi"});
    return findings;
}

Findings check_ours(const std::shared_ptr<const Sysroot> &sysroot, const CdiSpec &spec)
{
    Findings findings;
    std::vector<const HookFile *> seen;
    for (const HookFile &hook : spec.hooks) {
        const bool is_known = std::any_of(seen.begin(), seen.end(), [&](const HookFile *other) {
            return other->executable == hook.executable && other->stages == hook.stages;
        });
        if (hook.ours == nullptr || is_known)
            continue;
        seen.push_back(&hook);
        add(findings, check_hook(sysroot, hook));
    }
    if (findings.empty())
        findings.push_back({Severity::Ok,
                            quote(spec.path) + ": " + std::to_string(spec.devices.size()) + " devices of " +
                                quote(spec.kind) + ", by the hooks of this collection",
                            ""});
    return findings;
}

Finding rival(const CdiSpec &ours, const CdiSpec &other)
{
    const bool is_beside = folder_of(ours.path) == folder_of(other.path);
    return {Severity::Error,
            quote(other.path) + " has devices of " + quote(ours.kind) + " that " + quote(ours.path) +
                " has, by the hooks: engines " +
                (is_beside ? "give neither" : "take those of the later folder"),
            "remove one of them: rm " + printable(other.path)};
}

/** Devices of ours that another file has as well: engines take the later folder's, or neither of one folder. */
Findings check_rivals(const std::vector<CdiSpec> &specs)
{
    constexpr size_t most = 64;
    std::map<std::string, std::vector<const CdiSpec *>> ours_by_name;
    for (const CdiSpec &spec : specs)
        if (spec.is_ours())
            for (const std::string &name : std::set(spec.devices.begin(), spec.devices.end()))
                ours_by_name[spec.kind + "=" + name].push_back(&spec);
    std::set<std::pair<const CdiSpec *, const CdiSpec *>> rivals;
    for (const CdiSpec &other : specs)
        for (const std::string &name : other.devices) {
            const auto found = ours_by_name.find(other.kind + "=" + name);
            if (found == ours_by_name.end())
                continue;
            for (const CdiSpec *const ours : found->second)
                // Of two of ours each is met once, as the first and as the second.
                if (rivals.size() < most && (!other.is_ours() || ours->path < other.path))
                    rivals.emplace(ours, &other);
            if (rivals.size() == most)
                break;
        }
    Findings findings;
    for (const auto &[ours, other] : rivals)
        findings.push_back(rival(*ours, *other));
    return findings;
}

Findings check_spec(const std::shared_ptr<const Sysroot> &sysroot, const CdiSpec &spec)
{
    if (!spec.problem.empty())
        return {{Severity::Warning, spec.problem + "; engines pass over what they cannot read",
                 "mend the file, or remove it"}};
    Findings findings;
    if (const auto names = check_names(spec))
        findings.push_back(*names);
    if (spec.is_ours())
        add(findings, check_ours(sysroot, spec));
    else if (is_of_gpus(spec.kind))
        findings.push_back({Severity::Warning,
                            quote(spec.path) + " has " + std::to_string(spec.devices.size()) +
                                " devices of " + quote(spec.kind) +
                                ": whoever may name one to an engine gets it past the hooks, " +
                                "their policy and their leases",
                            "remove it, if the hooks alone are to give GPUs"});
    return findings;
}

} // namespace

std::optional<Section> check_cdi(const std::shared_ptr<const Sysroot> &sysroot)
{
    Section section{"CDI", {}};
    try {
        const std::vector<CdiSpec> specs = read_cdi_files(*sysroot, default_cdi_folders);
        for (const CdiSpec &spec : specs)
            add(section.findings, check_spec(sysroot, spec));
        add(section.findings, check_rivals(specs));
    } catch (const Error &error) {
        section.findings.push_back({Severity::Error, error.what(), "mend the folder"});
    }
    return section.findings.empty() ? std::nullopt : std::optional(std::move(section));
}

} // namespace ogh::admin
