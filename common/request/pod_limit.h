// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "oci/config.h"
#include "request/opt_in.h"

namespace ogh {

/**
 * Who writes a pod is not the host's administrator, so what a pod's annotation asks counts only where the hook has a
 * limit.
 * @param origin what asks, for the message
 * @throws Error (Denied) which names what to run, if the container is a pod's and there is none
 */
void check_pod(std::string_view hook, const Config &config, const OptInOptions &options,
               const std::string &origin);

} // namespace ogh
