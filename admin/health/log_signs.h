// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "health/kernel_log.h"
#include "lease/state/lease_state.h"

namespace ogh::admin {

/** What a driver has said of a GPU. */
struct Sign {
    enum class Kind {
        Failed,   ///< it is of no use as it is
        Claimed,  ///< the same, by the words of a message alone: it takes another sign to believe it
        Over,     ///< what there was is over: it was reset
        Reported, ///< something that says nothing about the next container
    } kind;
    LeaseKey gpu;     ///< the whole one; the host need not have it
    std::string text; ///< for people; printable

    bool operator==(const Sign &) const = default;
};

/**
 * What a message of the kernel's own says, if it is one of NVIDIA's driver or amdgpu that is known from its first byte on.
 * Further on there may be what somebody has chosen, such as the name of a program. A rule of netfilter's can begin a message
 * with any words: that of amdgpu counts if the kernel itself says of which device it is, and NVIDIA's driver leaves that
 * out, so that what it says is a claim at most.
 * @return nothing for all others
 */
std::optional<Sign> sign_of(const LogRecord &record);

} // namespace ogh::admin
