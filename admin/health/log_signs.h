// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "health/kernel_log.h"
#include "lease/lease_state.h"

namespace ogh::admin {

/** What a driver has said of a GPU. */
struct Sign {
    enum class Kind {
        Failed,   ///< it is of no use as it is
        Over,     ///< what there was is over: it was reset
        Reported, ///< something that says nothing about the next container
        Reloaded, ///< the driver was loaded anew, and has all its GPUs from the start
    } kind;
    LeaseKey gpu;     ///< the whole one; of Reloaded: "VENDOR:", all of that vendor's
    std::string text; ///< for people; printable

    bool operator==(const Sign &) const = default;
};

/**
 * What a message of the kernel's own says, if it is one of NVIDIA's driver or amdgpu that is known from its first byte on.
 * Others may stand in it further on what somebody has chosen, such as the name of a program, or a prefix of netfilter's.
 * @return nothing for all others
 */
std::optional<Sign> sign_of(const LogRecord &record);

} // namespace ogh::admin
