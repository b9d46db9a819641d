// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"
#include "engines/runtime_wrapper.h"
#include "install/root_files.h"
#include "install/unwrap_plan.h"

namespace ogh::admin {

namespace {

void say_what_would_be_done(const UnwrapPlan &plan)
{
    for (const Restoration &each : plan.restorations) {
        print(quote(each.path) + " " + each.found + ": would be a copy of " + quote(each.source) + "\n");
        if (!each.kept.empty())
            print("would keep that script as " + quote(each.kept) + "\n");
    }
}

void carry_out(const UnwrapPlan &plan, const Sysroot &sysroot, const RootFiles &root)
{
    for (const Restoration &each : plan.restorations) {
        root.copy(each.source, open_runtime(sysroot, each.source).get(), each.path, each.kept);
        print(quote(each.path) + " " + each.found + ": now a copy of " + quote(each.source) + "\n");
        if (!each.kept.empty())
            print("that script is " + quote(each.kept) + " now\n");
    }
}

int finish(const UnwrapPlan &plan)
{
    if (plan.restorations.empty() && plan.refused.empty())
        print("nothing to do: no wrapper stands where runc is looked for\n");
    if (!plan.copies.empty())
        print("left as they are: " + quote_list(plan.copies) +
              "; remove them by hand, once containers start and no configuration names them\n");
    refuse(plan.refused);
    return EXIT_SUCCESS;
}

} // namespace

int unwrap(int argc, const char *const *argv)
{
    CommandOptions options;
    bool dry_run = false;
    CommandLine cli(
        "oci-gpu-hooks unwrap",
        "Puts runc back where a script or a vendor's runtime stands in its place. Removes nothing.", page);
    cli.add_flag("--dry-run", "Say what would be put back where, and change nothing", dry_run);
    if (!parse(cli, options, argc, argv))
        return EXIT_SUCCESS;
    const auto sysroot = options.open();
    UnwrapPlan plan = plan_unwrap(*sysroot);
    if (dry_run) {
        say_what_would_be_done(plan);
    } else if (!plan.restorations.empty()) {
        RootFiles root = RootFiles::of_host(*sysroot);
        root.lock();
        plan = plan_unwrap(*sysroot); // of what whoever had the lock has left
        carry_out(plan, *sysroot, root);
    }
    return finish(plan);
}

} // namespace ogh::admin
