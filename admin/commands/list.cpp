// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/contains.h"
#include "base/error.h"
#include "base/exit_status.h"
#include "base/json.h"
#include "base/text.h"
#include "commands/command.h"
#include "host/drm_nodes.h"
#include "host/pci_address.h"

namespace ogh::admin {

namespace {

/** A host need not have what a hook gives. */
bool is_wrong(const ProgramOutput &output)
{
    return output.exit_status != 0 && !is_status(output, ExitStatus::NotAvailable);
}

/** Those that have something to list. @param gpus_alone and of these those for GPUs */
std::vector<InstalledHook> those(const std::shared_ptr<const Sysroot> &sysroot, bool gpus_alone)
{
    std::vector<InstalledHook> hooks = hooks_of_host(sysroot);
    std::erase_if(hooks, [&](const InstalledHook &hook) {
        return hook.hook->name == "ldcache-update" || (gpus_alone && !hook.hook->gives_gpus);
    });
    if (hooks.empty())
        throw Error(ErrorKind::BrokenHost,
                    "none of the hooks is installed on this host; 'oci-gpu-hooks doctor' says more");
    return hooks;
}

/** What a registration lists. */
struct Listed {
    std::string text; ///< without the states of leases, which may differ by the policy
    int running = 0;  ///< leases of which the policy lets nobody else have anything

    Listed(const Sysroot &sysroot, const InstalledHook &hook)
    {
        const ProgramOutput output = run_hook(sysroot, hook, {"--list=json"});
        if (output.exit_status != 0) {
            text = message_of(hook, output);
            return;
        }
        auto document = nlohmann::ordered_json::parse(output.out);
        if (document.contains("leases")) {
            for (nlohmann::ordered_json &row : document["leases"]) {
                running += row.at("state") == "running" ? 1 : 0;
                row.erase("state");
            }
        }
        text = document.dump();
    }
};

/** Those of a hook that list the same become one, with the states of the one by which most may be another one's. */
void join_same(const Sysroot &sysroot, std::vector<InstalledHook> &hooks)
{
    std::vector<InstalledHook> joined;
    std::optional<Listed> before; // by the last of these, once it is asked
    for (InstalledHook &hook : hooks) {
        const bool is_again = !joined.empty() && joined.back().hook == hook.hook;
        if (is_again && !before)
            before.emplace(sysroot, joined.back());
        auto listed = is_again ? std::optional<Listed>(std::in_place, sysroot, hook) : std::nullopt;
        if (!is_again || listed->text != before->text) {
            joined.push_back(std::move(hook));
            before = std::move(listed);
            continue;
        }
        for (const std::string &engine : hook.engines)
            add_once(joined.back().engines, engine);
        if (listed->running < before->running) {
            joined.back().options = std::move(hook.options);
            before = std::move(listed);
        }
    }
    hooks = std::move(joined);
}

int print_lists(const std::shared_ptr<const Sysroot> &sysroot, const std::string &format)
{
    int status = 0;
    std::string gap;
    std::vector<InstalledHook> hooks = those(sysroot, false);
    join_same(*sysroot, hooks);
    for (const InstalledHook &hook : hooks) {
        const std::string its = hook.hook->gives_gpus ? format : "table"; // what is no GPU has this one alone
        const ProgramOutput output = run_hook(*sysroot, hook, {"--list=" + its});
        print(gap + title_of(hook) + "\n");
        if (output.exit_status != 0 || !output.err.empty()) // who has which GPU may not be known
            print(message_of(hook, output) + "\n");
        if (output.exit_status == 0)
            print(output.out);
        gap = "\n";
        if (is_wrong(output))
            status = output.exit_status;
    }
    return status;
}

/** The same for what programs read: nothing but what the hooks print, once for several engines. */
void print_format(const std::shared_ptr<const Sysroot> &sysroot, const char *format)
{
    std::set<std::string> printed;
    for (const InstalledHook &hook : those(sysroot, true)) {
        const ProgramOutput output = run_hook(*sysroot, hook, {std::string("--list=") + format});
        if (output.exit_status == 0) {
            if (printed.insert(output.out).second)
                print(output.out);
        } else if (is_wrong(output)) {
            throw Error(kind_of_status(output.exit_status),
                        std::string(hook.hook->name) + ": " + message_of(hook, output));
        }
    }
}

/** Leases are the host's, and each registration of a hook lists them all. @param shown what stands in earlier entries */
void leave_out_shown(nlohmann::ordered_json &entry, std::set<std::string> &shown)
{
    for (const char *const table : {"leases", "drains"}) {
        if (!entry.contains(table))
            continue;
        nlohmann::ordered_json left = nlohmann::ordered_json::array();
        for (nlohmann::ordered_json &row : entry[table]) {
            nlohmann::ordered_json identity = row;
            identity.erase("state"); // may differ by the policy
            if (shown.insert(std::string(entry["hook"]) + table + identity.dump()).second)
                left.push_back(std::move(row));
        }
        entry[table] = std::move(left);
    }
}

} // namespace

std::string lists_as_json(const std::shared_ptr<const Sysroot> &sysroot, int *status)
{
    nlohmann::ordered_json document = {{"hooks", nlohmann::ordered_json::array()}};
    std::set<std::string> shown;
    for (const InstalledHook &hook : those(sysroot, false)) {
        const ProgramOutput output = run_hook(*sysroot, hook, {"--list=json"});
        nlohmann::ordered_json &entry = document["hooks"].emplace_back();
        entry = {{"hook", hook.hook->name}, {"engines", hook.engines}};
        if (output.exit_status == 0)
            entry.update(nlohmann::ordered_json::parse(output.out));
        if (output.exit_status != 0 || (entry.contains("gpus") && !entry.contains("leases")))
            entry["error"] = as_utf8(message_of(hook, output));
        leave_out_shown(entry, shown);
        if (status != nullptr && is_wrong(output))
            *status = output.exit_status;
    }
    return document.dump(2, ' ', true) + "\n";
}

std::vector<std::pair<LeaseKey, std::uint64_t>> numbered_gpus(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<std::pair<LeaseKey, std::uint64_t>> numbers;
    const auto all = nlohmann::json::parse(lists_as_json(sysroot));
    for (const auto &list : all.at("hooks")) {
        const std::string hook = text_member(list, "hook");
        for (const auto &row : list.value("gpus", nlohmann::json::array())) {
            const auto address = parse_pci_address(text_member(row, "address"));
            if (address && row.at("index").is_number())
                numbers.emplace_back(gpu_lease_key(hook.substr(0, hook.find('-')), *address),
                                     row.at("index").get<std::uint64_t>());
        }
    }
    return numbers;
}

int list(CommandLine &cli, Invocation &call)
{
    std::string format = "screen";
    cli.add_choice({"--format", "NAME", "screen, table or json (default: screen)"},
                   {"screen", "table", "json"}, [&](const std::string &name) { format = name; });
    if (!call.parse())
        return EXIT_SUCCESS;
    if (format != "json")
        return print_lists(call.open(), format);
    int status = 0;
    print(lists_as_json(call.open(), &status));
    return status;
}

int tags(CommandLine & /*cli*/, Invocation &call)
{
    if (call.parse())
        print_format(call.open(), "tags");
    return EXIT_SUCCESS;
}

int status(CommandLine & /*cli*/, Invocation &call)
{
    if (call.parse())
        print_format(call.open(), "status");
    return EXIT_SUCCESS;
}

} // namespace ogh::admin
