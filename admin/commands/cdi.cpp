// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"
#include "install/plans.h"

namespace ogh::admin {

int cdi(CommandLine &cli, Invocation &call)
{
    InstallRequest request;
    std::vector<std::string> names;
    std::string kind;
    cli.add({"--kind", "KIND", "Of the devices: the vendor's, and not the hook's own"}, kind);
    cli.add_words("HOOK...", "Which hooks (default: all)", names);
    if (!call.parse())
        return EXIT_SUCCESS;
    for (const std::string &name : names) {
        request.hooks.push_back(&named_hook(name));
        if (!has_cdi(*request.hooks.back()))
            throw Error(ErrorKind::Usage, quote(name) + " has no CDI devices");
    }
    if (!kind.empty() && names.size() != 1)
        throw Error(ErrorKind::Usage, "--kind needs the one hook whose vendor has that kind");
    const auto sysroot = call.open();
    const std::vector<InstalledHook> installed = hooks_of_host(sysroot);
    for (const OurHook *const hook : wanted_hooks(*sysroot, request))
        if (has_cdi(*hook))
            print(cdi_of(*sysroot, *hook, options_in_effect(installed, *hook), kind));
    return EXIT_SUCCESS;
}

} // namespace ogh::admin
