// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "edits/inner_path.h"
#include "hook/cdi_option.h"
#include "hook/declared_options.h"
#include "hook/hook.h"
#include "listing/listing.h"
#include "mount-srv/inventory.h"
#include "mount-srv/plan.h"

namespace ogh::mount_srv {

namespace {

struct Options {
    std::string source_dir = "/srv";
    Policy policy;
    std::optional<std::string> allow;
    std::optional<ListFormat> list;
    bool cdi = false;
};

void add_options(CommandLine &cli, Options &options)
{
    cli.add(declared("--source-dir"), options.source_dir);
    cli.add(declared("--target-dir"), options.policy.target_dir);
    cli.add_choice(declared("--writable", "mount-srv"), {"by-name", "never"},
                   [&](const std::string &name) { options.policy.writable_by_name = name == "by-name"; });
    cli.add(declared("--idmap"), options.policy.idmap);
    cli.add(declared("--allow", "mount-srv"), options.allow);
    add_list_options(cli, declared("--list"), declared("--format"), ListFormats::Common, options.list);
    cli.add(declared("--cdi", "mount-srv"), options.cdi);
}

Policy policy_of(const Options &options)
{
    Policy policy = options.policy;
    policy.target_dir = absolute_directory(policy.target_dir, "--target-dir");
    if (policy.target_dir != "/")
        InnerPath::parse(policy.target_dir); // refuses what is no plain path before anything is planned
    if (options.allow)
        policy.allow = parse_allow(*options.allow);
    return policy;
}

void print_list(const Inventory &inventory, const Policy &policy, ListFormat format)
{
    require_source(inventory);
    Hook::print(to_text(list_directories(inventory, policy), format));
}

/** All, and each that is there; not what has another meaning in a request, which is said. */
std::vector<std::string> device_names(const Inventory &inventory, const Policy &policy, Notes &notes)
{
    std::vector<std::string> names{"all"};
    for (const Directory &directory : inventory.directories) {
        if (!is_allowed(directory.name, policy))
            continue;
        if (directory.name != "all" && directory.name != "none" &&
            directory.name.find(':') == std::string::npos)
            names.push_back(directory.name);
        else
            notes.push_back({LogLevel::Warning,
                             quote(directory.name) + " is left out: it means something else in a request"});
    }
    return names;
}

void print_cdi(Hook &hook, const std::vector<std::string> &words, const Inventory &inventory,
               const Policy &policy)
{
    const auto names = device_names(inventory, policy, hook.notes());
    const std::string text = cdi_text({.hook = "mount-srv",
                                       .options = words,
                                       .timeout = hook_timeout(std::chrono::seconds(0)),
                                       .devices = devices_named(names)},
                                      false, hook.sysroot(), hook.notes());
    hook.say_notes();
    Hook::print(text);
}

/** From what is asked to what is done. */
void give(Hook &hook, const Sysroot &sysroot, const std::string &source_dir, Policy policy)
{
    const auto asked = hook.request();
    if (!asked)
        return;
    if (asked->limits.allow)
        limit(policy, *asked->limits.allow);
    const DirectoryRequest request = parse_directory_request(asked->what);
    hook.watch_time(); // the directories that are handed out may be anywhere
    const Inventory inventory = read_inventory(sysroot, source_dir);
    const Edits edits = plan(request, inventory, policy, hook.notes());
    hook.say_notes();
    hook.carry_out(edits);
}

/** One run of the hook: its options, what is asked, what the host has of it, and what becomes of that. */
void run(Hook &hook, int argc, char **argv)
{
    Options options;
    add_options(hook.cli(), options);
    if (!hook.parse(argc, argv))
        return;
    check_cdi(options.cdi, options.list.has_value(), hook.options());
    const Policy policy = policy_of(options);
    const std::string source_dir = absolute_directory(options.source_dir, "--source-dir");
    const Sysroot &sysroot = hook.sysroot();
    if (options.list)
        return print_list(read_inventory(sysroot, source_dir), policy, *options.list);
    if (!options.cdi)
        return give(hook, sysroot, source_dir, policy);
    print_cdi(hook, {argv, argv + argc}, read_inventory(sysroot, source_dir), policy);
}

} // namespace

} // namespace ogh::mount_srv

int main(int argc, char **argv)
{
    return ogh::run_hook("mount-srv", "Gives a container directories of the host",
                         [&](ogh::Hook &hook) { ogh::mount_srv::run(hook, argc, argv); });
}
