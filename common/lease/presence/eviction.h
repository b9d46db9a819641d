// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lease/presence/processes.h"
#include "lease/rules/preemption.h"
#include "lease/state/lease_state.h"

namespace ogh {

/** What became of a container. */
struct Eviction {
    bool has_ended = false;
    UniqueFd busy_with; ///< a process of it that keeps it from being idle; may be not valid
};

/**
 * Asks it to end; or ends it, and waits for that. One that was idle is looked at again, 100 ms later; one that was never
 * started must not have been since.
 * @throws Error (BrokenHost) if it does not end
 */
Eviction evict(const Processes &processes, const PreemptStep &step);

// Taking the devices of a container away, which lives on. Whoever does it notes that in the container's entry first
// (Allocation::taker), and saves it; then, under the lock again, the rules of the devices leave the device cgroup, it is
// looked at again, and the entry goes and the new one comes with the same write. Whoever is killed on the way leaves an
// entry with its mark: the container has its lease still, so that nobody else has, and the next one who looks puts back
// what may have gone. So at each moment one of both has the lease, and only that one may open the devices.

/** What came of it for one container. */
struct Revocation {
    Holder holder;
    std::string text; ///< for people: why it could not be; "" if it was, or a process had come
    bool is_taken = false;
    bool has_begun = false;   ///< of one that is taken from: something had ever run in it
    std::int64_t idle_ns = 0; ///< as Allocation has it
};

/**
 * Under the lock: finishes what this process has begun to take, and puts back what others have left who have ended. Of one
 * that is taken from the entry goes to LeaseState::deprived; one that cannot be has no rules any more, and can be ended.
 * @return what has been done
 */
std::vector<Revocation> finish_revocations(const Processes &processes, LeaseState &state);

/** The same, but what this process has begun to take is put back. */
void undo_revocations(const Processes &processes, LeaseState &state);

/**
 * Those from whom was taken though nothing had begun, and in which something has begun since; each is found once.
 * @return their ids
 */
std::vector<std::string> find_late(const Processes &processes, LeaseState &state);

/** "idle since 2026-11-27T10:00:00Z", "not begun". @param now CLOCK_BOOTTIME, ns */
std::string idle_text(bool has_begun, std::int64_t idle_ns);

} // namespace ogh
