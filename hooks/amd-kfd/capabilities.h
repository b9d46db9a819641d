// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "request/request.h"

namespace ogh::amd_kfd {

/** What a container may want beside GPUs. */
struct Capabilities {
    bool npu = false; ///< the Ryzen AI processors of this host, all of them

    bool operator==(const Capabilities &) const = default;
};

/**
 * Understands a list, separated by commas, of `npu`. Blanks around items and repeats are allowed.
 * @throws Error (Usage) that says what it takes
 */
Capabilities parse_capabilities(const RequestValue &asked);

/**
 * Understands --allow-capabilities, as the host or a line of the key file has it: such a list, or `none`.
 * @throws Error (Usage)
 */
Capabilities parse_allowed_capabilities(const RequestValue &list);

/** @throws Error (Policy) for one that is wanted and not allowed */
void check_permitted(const Capabilities &wanted, const Capabilities &allowed);

} // namespace ogh::amd_kfd
