// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "history/history.h"
#include "lease/lease_request.h"
#include "lease/lease_state.h"

namespace ogh {

/** What is said of a lease that is none: the container sees the devices alone. */
constexpr std::string_view observers_lease = "observer";

/** How containers have ended that the state has no more, where whoever takes them out knows; by init. */
using KnownEnds = std::map<ProcessId, std::string>;

/** A container has got these devices. @param lease "shared", and so on. @param waited_ns since it asked */
void add_grant(History &history, const LeaseRequest &request, std::string_view lease,
               const std::vector<LeaseKey> &devices, std::int64_t waited_ns);

/** Containers in which something has begun after what they had was taken away. */
void add_late(History &history, const std::vector<std::string> &containers);

/**
 * Each container that had something before, and has nothing now. Whoever sees it writes it down, so its end is when it was
 * next seen to be gone.
 * @param now CLOCK_BOOTTIME, ns
 */
void add_ends(History &history, const LeaseState &before, const LeaseState &after, const KnownEnds &how,
              std::int64_t now);

} // namespace ogh
