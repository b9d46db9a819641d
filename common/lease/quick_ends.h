// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "lease/lease_state.h"

namespace ogh {

/** So many containers in a row that end at once make a device the last one to be chosen. */
constexpr size_t enough_quick_ends = 3;

/** Seen to have ended so soon after its lease, in ns, a container has ended at once. */
constexpr std::int64_t quick_end_ns = 10'000'000'000;

/** Whether the last containers that had the device ended at once, each of them another one. */
bool ends_at_once(const LeaseState &state, const LeaseKey &key);

/**
 * Notes of the devices of those who have gone whether they ended at once. A container that is started again and again is
 * one. Who was ended on purpose, or not started, says nothing of a device; who was there for longer, or is found to have
 * ended later, says that it is well.
 * @param before the state when they were there
 * @param known who was ended on purpose, by init, and why
 * @param now CLOCK_BOOTTIME, ns
 * @param noted those of whom that is done, by init; who is noted now is added
 */
void note_quick_ends(const LeaseState &before, const std::map<ProcessId, std::string> &known,
                     std::int64_t now, LeaseState &state, std::set<ProcessId> &noted);

} // namespace ogh
