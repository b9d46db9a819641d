// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "hook/hook.h"
#include "hook/listing.h"
#include "request/selection.h"

namespace ogh {

/** What every hook for GPUs takes besides the common options; the host's side. */
struct GpuOptions {
    std::optional<std::string> allow;
    std::optional<unsigned> max_devices;
    std::optional<std::string> capabilities;       ///< what --request asks for beside GPUs
    std::optional<std::string> allow_capabilities; ///< the only ones that may be asked for
    ListOptions list;
};

/** @throws Error (Usage) */
SelectionPolicy policy_of(const GpuOptions &options);

/** Adds what the key allows that the container has asked with. @throws Error (Usage) */
void limit(SelectionPolicy &policy, const Asked &asked);

/** The list of --allow-capabilities, and where it is from. @return nothing if it is not given: every capability */
std::optional<Asked> allowed_capabilities(const GpuOptions &options);

/** The same of the key that a container has asked with. */
std::optional<Asked> allowed_capabilities(const KeyLimits &limits);

/**
 * The capabilities that are asked for by name: by the container, or, where it is the host that asks for GPUs, by
 * --capabilities; the container's own win where the host asks for every container.
 * @param key of the annotation
 * @param asked what was asked for of GPUs
 */
std::optional<Asked> asked_capabilities(const Hook &hook, std::string_view key, const Asked &asked,
                                        const GpuOptions &options);

/** Adds the options that one hook alone has. */
using AddOptions = std::function<void(CommandLine &)>;

/**
 * run_hook() for GPUs: with these options, and with the capabilities that device nodes and device cgroups take.
 * @param body called once the command line is parsed
 * @return the exit code
 */
int run_gpu_hook(const char *name, const char *description, int argc, const char *const *argv,
                 const std::function<void(Hook &, const GpuOptions &)> &body,
                 const AddOptions &add_further = {});

} // namespace ogh
