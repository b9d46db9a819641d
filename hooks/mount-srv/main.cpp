// SPDX-License-Identifier: Apache-2.0
#include "edits/inner_path.h"
#include "hook/cdi_option.h"
#include "hook/hook.h"
#include "hook/listing.h"
#include "mount-srv/folder_list.h"
#include "mount-srv/folder_request.h"
#include "mount-srv/inventory.h"
#include "mount-srv/plan.h"

namespace {

struct Options {
    std::string source_dir = "/srv";
    std::string target_dir = "/srv";
    std::string writable = "by-name";
    bool idmap = false;
    std::optional<std::string> allow;
    ogh::ListOptions list;
    bool cdi = false;
};

void add_options(ogh::CommandLine &cli, Options &options)
{
    cli.add({"--source-dir", "DIR", "Whose entries are handed out (default: /srv)"}, options.source_dir);
    cli.add({"--target-dir", "DIR", "Where they appear in the container (default: /srv)"},
            options.target_dir);
    cli.add_choice({"--writable", "NAME", "by-name (*_writable*, *_rw) or never (default: by-name)"},
                   {"by-name", "never"}, [&](const std::string &name) { options.writable = name; });
    cli.add_flag("--idmap", "Map the owners of writable folders into a container's user namespace",
                 options.idmap);
    cli.add({"--allow", "NAME,...", "The only names that may be handed out (default: every name)"},
            options.allow);
    ogh::add_list_options(cli, "Print what this host hands out, and do nothing else",
                          ogh::ListFormats::Common, options.list);
    ogh::add_cdi_option(cli, options.cdi);
}

ogh::mount_srv::Policy policy_of(const Options &options)
{
    ogh::mount_srv::Policy policy;
    policy.target_dir = ogh::absolute_folder(options.target_dir, "--target-dir");
    if (policy.target_dir != "/")
        ogh::InnerPath::parse(policy.target_dir); // refuses what is no plain path before anything is planned
    policy.writable_by_name = options.writable == "by-name";
    policy.idmap = options.idmap;
    if (options.allow)
        policy.allow = ogh::mount_srv::parse_allow(*options.allow);
    return policy;
}

void print_list(const ogh::mount_srv::Inventory &inventory, const ogh::mount_srv::Policy &policy,
                const ogh::ListOptions &options)
{
    ogh::mount_srv::require_source(inventory);
    ogh::Hook::print(to_text(ogh::mount_srv::list_folders(inventory, policy),
                             options.format.value_or(ogh::ListFormat::Table)));
}

/** All, and each that is there; not what has another meaning in a request. */
std::vector<std::string> device_names(const ogh::mount_srv::Inventory &inventory,
                                      const ogh::mount_srv::Policy &policy)
{
    std::vector<std::string> names{"all"};
    for (const auto &folder : inventory.folders)
        if (is_allowed(folder.name, policy) && folder.name != "none" &&
            folder.name.find(':') == std::string::npos)
            names.push_back(folder.name);
    return names;
}

} // namespace

int main(int argc, char **argv)
{
    return ogh::run_hook("mount-srv", "Gives a container folders of the host", [&](ogh::Hook &hook) {
        Options options;
        add_options(hook.cli(), options);
        if (!hook.parse(argc, argv))
            return;
        ogh::check(options.list);
        ogh::check_cdi(options.cdi, options.list.list, hook.options());
        auto policy = policy_of(options);
        const auto source_dir = ogh::absolute_folder(options.source_dir, "--source-dir");
        const ogh::Sysroot sysroot(hook.options().sysroot);
        if (options.list.list) {
            print_list(ogh::mount_srv::read_inventory(sysroot, source_dir), policy, options.list);
            return;
        }
        if (options.cdi) {
            const auto names = device_names(ogh::mount_srv::read_inventory(sysroot, source_dir), policy);
            ogh::Hook::print(ogh::cdi_text({"mount-srv",
                                            {argv, argv + argc},
                                            false,
                                            "",
                                            ogh::devices_named(names),
                                            "",
                                            hook.options().inspect},
                                           sysroot));
            return;
        }
        const auto asked = hook.request();
        if (!asked)
            return;
        if (asked->limits.allow)
            ogh::mount_srv::limit(policy, *asked->limits.allow);
        const auto request = ogh::mount_srv::parse_folder_request(*asked);
        hook.watch_time(); // the folders that are handed out may be anywhere
        const auto inventory = ogh::mount_srv::read_inventory(sysroot, source_dir);
        ogh::Notes &notes = hook.notes();
        const auto edits = ogh::mount_srv::plan(request, inventory, policy, notes);
        hook.say_notes();
        hook.carry_out(edits);
    });
}
