// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/request/extras.h"

#include "base/error.h"

namespace ogh::nvidia_devices {

namespace {

/** Those that are asked for by name; nothing if none are. */
std::optional<Capabilities> named_capabilities(const GpuRequest &request, const ExtrasOptions &options)
{
    if (const RequestValue *own = request.asked.detail("capabilities"))
        return parse_capabilities(*own);
    if (options.capabilities && request.asked.is_by_host())
        return parse_capabilities({*options.capabilities, "option '--capabilities'"});
    if (request.by_environment)
        return capabilities_of_environment(*request.config);
    return std::nullopt;
}

std::vector<unsigned> asked_channels(const GpuRequest &request)
{
    const RequestValue *own = request.asked.detail("imex");
    if (own != nullptr && request.asked.plugin)
        throw Error(ErrorKind::Denied, "the " + own->origin +
                                           " does not count here: the host has a device plugin choose "
                                           "(--from), channels as well");
    if (own != nullptr)
        return parse_imex_channels(*own);
    if (request.asked.plugin)
        return imex_channels_of_plugin(*request.config, *request.asked.plugin);
    if (request.by_environment)
        return imex_channels_of_environment(*request.config);
    return {};
}

} // namespace

Extras extras_of(const GpuRequest &request, const ExtrasOptions &options)
{
    const bool is_none = request.selectors.none;
    const auto named = named_capabilities(request, options);
    Extras extras{named.value_or(default_capabilities())};
    if (request.by_environment && !is_none)
        extras.requirements = requirements_of(*request.config);
    extras.has_files = !is_none || named;
    if (!extras.has_files)
        return extras;
    extras.capabilities = permitted(extras.capabilities, options.allow_capabilities);
    if (const auto &limit = request.asked.limits.allow_capabilities)
        extras.capabilities =
            permitted(extras.capabilities,
                      parse_allowed_capabilities({*limit, "--allow-capabilities of a line of the key file"}));
    if (is_none)
        return extras; // a container without a GPU has no use for channels, and gets no node
    extras.imex_channels = asked_channels(request);
    options.allow_imex.require(extras.imex_channels);
    return extras;
}

} // namespace ogh::nvidia_devices
