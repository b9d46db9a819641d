// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lease/presence/processes.h"
#include "lease/rules/lease_rules.h"
#include "lease/rules/preemption.h"

namespace ogh {

/** Who has been found alive, with what becomes readable when that may have changed; not valid where nothing does. */
struct Present {
    std::map<ProcessId, UniqueFd> holders; ///< by init
    std::map<std::uint64_t, UniqueFd> tickets;
};

/**
 * The container whose init that is.
 * @param id of the container, and `idle_init`: as in Holder
 * @param cgroups_path linux.cgroupsPath of config.json, or ""
 * @return it, and the pidfd of its init. @throws Error if init has ended
 */
std::pair<Holder, UniqueFd> find_holder(const Processes &processes, pid_t init, const std::string &id,
                                        bool idle_init, const std::string &cgroups_path);

/**
 * Whether a container is still there: with a pid namespace of its own as long as its init, else as long as a process is
 * in its cgroup.
 * @return what to watch, of one of its processes; nothing if it has ended. @throws Error (BrokenHost) if that cannot be told
 */
std::optional<UniqueFd> find_container(const Processes &processes, const Holder &holder);

/**
 * Some process besides the init of a container that has a cgroup and a pid namespace of its own: in that cgroup or, wherever
 * it was moved to since, in that pid namespace. That takes longer: all processes of the host are looked at.
 * @return nothing if there is none; not valid if it cannot be held. @throws Error (BrokenHost) if that cannot be told
 */
std::optional<UniqueFd> find_company(const Processes &processes, const Holder &holder);

/**
 * Takes out of the state who has ended, of those that the demand may meet, as far as the number of a process tells: it is
 * no process's any more. The number of one that is left may be another process's. @throws Error
 */
void drop_missing_holders(const Processes &processes, LeaseState &state, const Demand &demand);

/** The same for requests that wait. */
void drop_missing_tickets(LeaseState &state, const Demand &demand);

/**
 * Looks closely at those that are in the way, and takes out of the state who has ended.
 * @param present who has been looked at already; who has not ended is added
 * @return whether somebody had ended. @throws Error
 */
bool drop_gone(const Processes &processes, LeaseState &state, const Obstacles &obstacles, Present &present);

/** Looks closely at all, observers too. */
Present drop_gone(const Processes &processes, LeaseState &state);

// A decision by those who are there, and what has to be watched while it stands. The kernel tells nobody who has ended
// until somebody looks, so that the state has some who have.

/** What ends the sleep of a request that waits, as sleep_until_one_ends() takes it. */
struct SleepEnd {
    std::vector<UniqueFd> watched = {}; ///< of processes
    std::int64_t at_ns = 0;             ///< CLOCK_BOOTTIME
};

/**
 * Decides, takes out of the state who has ended of those that were in the way, and decides again, until all of them are
 * there.
 * @param present who has been looked at
 * @param note_ends called each time that somebody was taken out
 */
Decision decide_by_present(const Processes &processes, LeaseState &state, const Claim &claim,
                           std::int64_t now, Present &present, const std::function<void()> &note_ends);

/**
 * Notes with a request that waits what it watches from now on, and adds that to `end`.
 * @param ticket its number
 * @param demand what it asks for without what nobody's end could bring it
 * @param present who has been looked at
 */
void watch(const Processes &processes, LeaseState &state, std::uint64_t ticket, const Demand &demand,
           Present present, std::int64_t now, SleepEnd &end);

/** Looks at a container, as closely as it takes to know whether it may be taken from, and notes that. */
Signs look_at(const Processes &processes, Allocation &allocation, const PreemptionPolicy &policy,
              std::int64_t now);

/**
 * Which of several may be taken from, by looking at them; what is seen is noted in the state. Those from whom somebody is taking are none.
 * @param holders their inits
 * @param end what keeps one from being idle is added, a pidfd, or when to look again where that cannot be held
 */
Preemptibles look_for_preemptible(const Processes &processes, LeaseState &state,
                                  const std::set<ProcessId> &holders, const PreemptionPolicy &policy,
                                  SleepEnd &end, std::int64_t now);

} // namespace ogh
