// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "request/candidate.h"
#include "request/key_file.h"

namespace ogh {

/**
 * The policy of the host's own options.
 * @param allow as --allow has it; nothing: every device
 * @param max_devices for one container; nothing: no limit
 * @throws Error (Usage)
 */
SelectionPolicy policy_of(const std::optional<std::string> &allow,
                          const std::optional<unsigned> &max_devices);

/** Adds what the key allows that the container has asked with. @throws Error (Usage) */
void limit(SelectionPolicy &policy, const KeyLimits &limits);

} // namespace ogh
