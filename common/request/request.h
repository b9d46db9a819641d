// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "oci/config.h"
#include "request/opt_in.h"
#include "request/request_value.h"

namespace ogh {

/**
 * The value of the annotation `io.oci-gpu-hooks.KEY`, or of the variable that stands for it with --opt-in
 * environment. In a pod `io.oci-gpu-hooks.KEY/CONTAINER` is for that container alone and wins, see
 * find_own_annotation().
 *
 * @param key a hook's name, or "nvidia-devices.capabilities" and the like
 * @return nothing if it is not there
 * @throws Error: Usage if it is there and empty or too long; Denied if it is a variable, and --key-file has no line for
 *         the container's key that serves the hook; as check_pod() for an annotation, unless it says `none`
 */
std::optional<RequestValue> find_value(std::string_view key, const Config &config,
                                       const OptInOptions &options);

/**
 * Who writes a pod is not the host's administrator, so what a pod's annotation asks counts only where the hook has a
 * limit.
 * @param origin what asks, for the message
 * @throws Error (Denied) which names what to run, if the container is a pod's and there is none
 */
void check_pod(std::string_view hook, const Config &config, const OptInOptions &options,
               const std::string &origin);

/** Whether a variable of the container would count for the hook with --opt-in environment: then a key is needed. */
bool has_variable(std::string_view hook, const Config &config);

/**
 * What the container asks of `hook`, by annotation, by its environment or by the host's --request, as the
 * options allow; where the host believes a device plugin (--from), what that has given the container, unless it asks for
 * `none` itself. Why there is nothing to do stands in `notes`.
 *
 * @param config nullptr if there is no container (--plan by hand): then only --request counts
 * @throws Error: Denied if it asks and --only leaves it out, or if it asks itself beside a plugin; Usage also for a key
 *         of this collection that no hook knows: a container must not silently start without what it asked for
 */
std::optional<RequestValue> find_request(std::string_view hook, const Config *config,
                                         const OptInOptions &options, Notes &notes);

} // namespace ogh
