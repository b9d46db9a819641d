// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_containers.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cgroup/device_denials.h"
#include "engines/container_devices.h"
#include "engines/containers.h"
#include "engines/document.h"
#include "registration/keys.h"
#include "registration/path_names.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

std::string named(const RunningContainer &container)
{
    constexpr size_t short_id = 12; // as engines show it
    return "container " + printable(container.id.substr(0, short_id)) + " (" + container.runtime + ")";
}

bool is_called(const RunningContainer &container, const OurHook &hook)
{
    return std::any_of(container.hooks.begin(), container.hooks.end(),
                       [&](const std::string &path) { return name_of(path) == hook.name; });
}

bool calls_ours(const RunningContainer &container)
{
    const auto hooks = our_hooks();
    return std::any_of(hooks.begin(), hooks.end(),
                       [&](const OurHook &hook) { return is_called(container, hook); });
}

std::optional<Finding> check_key(const RunningContainer &container, const std::string &key,
                                 const std::string &value)
{
    const KeyMeaning meaning = meaning_of(key);
    const std::string has = named(container) + " has the annotation " + quote(key);
    if (meaning.kind == KeyMeaning::Kind::NearlyOurs)
        return Finding{
            Severity::Error, has + ", which no hook knows: it was given nothing for it",
            "keys begin with 'io.oci-gpu-hooks.' and go on as in oci-gpu-hooks(7); make the container again"};
    const bool is_uncalled = meaning.hook != nullptr && !is_called(container, *meaning.hook);
    if ((is_uncalled && value != "none") ||
        (meaning.kind == KeyMeaning::Kind::Unknown && !calls_ours(container)))
        return Finding{Severity::Error,
                       has + ", and its config.json calls no hook for it: it was given nothing",
                       "see what is wrong with its engine above, and make the container again"};
    return std::nullopt;
}

Findings check_keys(const RunningContainer &container)
{
    if (!container.problem.empty())
        return {{Severity::Note, named(container) + ": " + container.problem, ""}};
    Findings findings;
    for (const auto &[key, value] : container.annotations)
        if (const auto finding = check_key(container, key, value))
            findings.push_back(*finding);
    return findings;
}

/** What is in the way of its nodes. */
Findings check_denials(const RunningContainer &container, const std::vector<ContainerNode> &nodes)
{
    Findings findings;
    DeviceRules rules;
    std::transform(nodes.begin(), nodes.end(), std::back_inserter(rules),
                   [](const ContainerNode &node) { return node.rule; });
    for (const DeviceDenial &denial : find_denials(ProcFs(), container.pid, rules)) {
        const auto node = std::find_if(nodes.begin(), nodes.end(),
                                       [&](const ContainerNode &each) { return each.rule == denial.rule; });
        findings.push_back(
            {denial.is_certain ? Severity::Error : Severity::Note,
             named(container) + ": " + quote(node->path) + " (" + to_text(denial.rule) + ") is denied by " +
                 denial.by + (denial.is_certain ? "" : ", as far as can be told: it cannot be understood"),
             denial.is_certain
                 ? "make the container again; whatever set its devices anew, as 'podman update' does, "
                   "is to be left"
                 : ""});
    }
    return findings;
}

/** A line for each lease of this container, of all GPU hooks. */
Findings check_leases(const Sysroot &sysroot, const RunningContainer &container,
                      const std::vector<InstalledHook> &hooks)
{
    Findings findings;
    std::vector<std::string> seen;
    for (const InstalledHook &hook : hooks) {
        const bool is_known = std::find(seen.begin(), seen.end(), hook.hook->name) != seen.end();
        if (!hook.hook->gives_gpus || is_known)
            continue;
        seen.emplace_back(hook.hook->name);
        const ProgramOutput output = run_hook(sysroot, hook, {"--list", "--format", "json"});
        const json listing = json::parse(output.out, nullptr, false);
        const json *const leases = listing.is_object() ? find_value(listing, {"leases"}) : nullptr;
        if (leases == nullptr || !leases->is_array())
            continue;
        for (const json &lease : *leases)
            if (lease.value("pid", 0) == container.pid)
                findings.push_back({Severity::Note,
                                    named(container) + " has a lease of " + std::string(hook.hook->name) +
                                        ": GPUs " + quote(text_at(lease, {"gpus"})) + ", " +
                                        text_at(lease, {"lease"}) + ", since " + text_at(lease, {"since"}) +
                                        ", " + text_at(lease, {"state"}),
                                    ""});
    }
    return findings;
}

Findings check_devices_of(const Sysroot &sysroot, const RunningContainer &container,
                          const std::vector<InstalledHook> &hooks)
{
    Findings findings;
    try {
        const std::vector<ContainerNode> nodes = gpu_nodes_of(sysroot, container.pid);
        std::vector<std::string> paths;
        std::transform(nodes.begin(), nodes.end(), std::back_inserter(paths),
                       [](const ContainerNode &node) { return node.path; });
        if (nodes.empty())
            return findings;
        findings.push_back(
            {Severity::Note,
             named(container) + " has " + quote_list(paths) +
                 (calls_ours(container) ? "" : ", and none of it by the hooks of this collection"),
             ""});
        add(findings, check_leases(sysroot, container, hooks));
        if (sysroot.on_host("/") == "/") // processes and cgroups are those of this host
            add(findings, check_denials(container, nodes));
    } catch (const Error &error) {
        findings.push_back({Severity::Note, named(container) + ": " + error.what(), ""});
    }
    return findings;
}

} // namespace

std::optional<Section> check_containers(const Sysroot &sysroot, const std::vector<InstalledHook> &hooks,
                                        const std::string &wanted)
{
    Section section{"running containers", {}};
    bool is_found = false;
    for (const RunningContainer &container : find_containers(sysroot)) {
        if (!container.id.starts_with(wanted))
            continue;
        is_found = true;
        Findings findings = check_keys(container);
        add(findings, check_devices_of(sysroot, container, hooks));
        if (!wanted.empty() && findings.empty())
            findings.push_back({Severity::Note, named(container) + " asked for nothing, and has no GPU", ""});
        add(section.findings, std::move(findings));
    }
    if (!wanted.empty() && !is_found)
        throw Error(ExitCode::Usage, "no container runs whose id begins with " + quote(wanted));
    return section.findings.empty() ? std::nullopt : std::optional(std::move(section));
}

} // namespace ogh::admin
