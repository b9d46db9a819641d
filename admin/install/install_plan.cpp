// SPDX-License-Identifier: Apache-2.0
#include "install/install_plan.h"

#include "base/error.h"
#include "base/path_names.h"
#include "install/host_writer.h"

namespace ogh::admin {

PlannedFile planned_file(const InstallRequest &request, const std::string &path, std::string text,
                         const std::string &hook, const std::vector<std::string> &options)
{
    const std::string hash = sha256_of(text);
    return {{path, {hash}, {request.kind->name()}, hook, options}, std::move(text), folder_of(path)};
}

std::vector<const OurHook *> wanted_hooks(const InstallHost &host, const InstallRequest &request)
{
    if (!request.hooks.empty())
        return request.hooks;
    std::vector<const OurHook *> hooks;
    for (const OurHook &hook : our_hooks())
        if (host.sysroot->find(hook.executable))
            hooks.push_back(&hook);
    if (hooks.empty())
        throw Error(ErrorKind::BrokenHost, "none of the hooks' executables is on this host");
    return hooks;
}

std::optional<std::vector<std::string>> wanted_options(const InstallHost &host, const InstallRequest &request,
                                                       const std::string &path)
{
    if (!request.options.empty())
        return request.options;
    const InstalledFile *const file = host.manifest.find(path);
    return file == nullptr ? std::nullopt : std::optional(file->options);
}

} // namespace ogh::admin
