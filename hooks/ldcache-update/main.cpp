// SPDX-License-Identifier: Apache-2.0
#include "hook/declared_options.h"
#include "hook/hook.h"
#include "ldcache-update/image.h"
#include "ldcache-update/library_request.h"
#include "libraries/loader_plan.h"

int main(int argc, char **argv)
{
    return ogh::run_hook(
        "ldcache-update", "Makes a container's loader find libraries that were put in", [&](ogh::Hook &hook) {
            std::vector<std::string> further;
            hook.cli().add(ogh::declared("--directory"), further);
            hook.options().needs_no_limit = true;
            if (!hook.parse(argc, argv))
                return;
            const auto asked =
                hook.request([&] { return ogh::ldcache_update::asked_by_tree(hook.container()); });
            if (!asked)
                return;
            const auto request = ogh::ldcache_update::parse_library_request(asked->what, further);
            if (request == ogh::ldcache_update::LibraryRequest())
                return hook.carry_out({}); // `none`: then the image does not matter
            const auto serve = [&] {
                auto image = ogh::ldcache_update::read_image(hook.look(), request, hook.notes());
                if (hook.config())
                    image.library_path =
                        ogh::environment_value(*hook.config(), "LD_LIBRARY_PATH").value_or("");
                const auto edits = ogh::plan_loader_files(image, hook.read_only(), hook.notes());
                hook.say_notes();
                hook.carry_out(edits);
            };
            // `auto` of a CDI specification or of the host's goes along as well: what was asked for is the device.
            const bool goes_along =
                asked->asker == ogh::Asker::OtherHook || (asked->is_by_host() && asked->what.value == "auto");
            if (goes_along)
                hook.try_to(serve);
            else
                serve();
        });
}
