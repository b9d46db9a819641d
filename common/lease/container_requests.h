// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "lease/presence/gpu_users.h"
#include "lease/presence/processes.h"
#include "lease/rules/busy_text.h"
#include "lease/rules/preemption.h"
#include "lease/state/lease_changes.h"
#include "lease/state/lease_state.h"
#include "oci/container_label.h"

namespace ogh {

/** What is wrong with devices, each with the reason: "looks dead: ...". */
using DeviceProblems = std::map<LeaseKey, std::string>;

/** See HoldLimit. */
struct HoldTerms {
    std::chrono::nanoseconds most{0};
    std::chrono::nanoseconds grace{0};
    int signal = SIGTERM;
};

/** What a container asks for. */
struct LeaseRequest {
    pid_t init = 0;                ///< of the container, from the state
    bool idle_init = false;        ///< as in Holder
    std::string container;         ///< its id, from the state
    std::string cgroups_path = {}; ///< linux.cgroupsPath of config.json, or ""
    Demand demand;
    /** The same for the same request of this container: it is granted once. "" if it leaves no choice. */
    std::string name = {};
    bool is_for_all = false; ///< `all`: there is no more to be had besides
    /** What takes the place of a device that was chosen for an earlier request, and that this one names. */
    std::vector<LeaseKey> others = {};
    std::chrono::nanoseconds wait{0}; ///< how long it may wait; 0: not at all
    pid_t runtime = 0;                ///< this process's parent as it was at the start; needed for waiting
    /** How many devices the container may have, those of earlier requests too; nothing: no limit. */
    std::optional<unsigned> max_devices = {};
    /** Which count, by what is before the first ':' of their keys; those of this request always do. */
    std::vector<std::string> counted = {};
    const char *word = "GPUs"; ///< for several of them, in an error
    bool is_explicit = false;  ///< a lease was asked for or demanded by name, and is not the default alone
    PreemptionPolicy preemption = {};
    /** How long the container may have it where others wait; nothing: for ever. */
    std::optional<HoldTerms> hold = {};
    NameDevice name_device = {}; ///< nothing: by its key
    ContainerLabel label = {};   ///< for people
    /**
     * Asked when it has waited, with nothing locked, before it is given anything: what was chosen then goes back, and
     * others are chosen at its place in the queue. Empty: nobody is asked.
     */
    std::function<DeviceProblems()> find_unfit = {};
    /** Asked with nothing locked before something is chosen, after each wait anew. Empty: it makes no difference. */
    FindGpuUsers find_users = {};
    bool only_empty = false; ///< nothing is given that somebody uses who has no lease of it
    Notes *notes = nullptr;  ///< where it is said who was ended; outlives the request
};

// The requests of one container add up, in whatever order they come: it has what is named, once, and besides as many
// devices as `any` asks for in all of them. A request that comes again, as from a hook that is registered twice, is
// granted what it was granted before. A container that starts again is another one: it has another init.

/** What is left of a request for a container that may have devices by earlier ones. */
struct RemainingRequest {
    Demand demand;
    std::string name = {};   ///< LeaseRequest::name; "" if there is nothing to be noted
    bool is_for_all = false; ///< then what is chosen is not noted: nothing takes its place
    std::vector<LeaseKey> displaced =
        {}; ///< chosen for earlier requests, and now named: others are chosen instead
};

/**
 * The request beside what the container has. Pure. To be asked at each look at the state, before somebody loses something
 * for the request.
 * @throws Error (NotAvailable) if there are not so many devices besides, (Denied) if the container would have more than
 * LeaseRequest::max_devices
 */
RemainingRequest remaining_request(const LeaseState &state, const ProcessId &init,
                                   const LeaseRequest &request);

/**
 * Notes with the container's entry what was chosen.
 * @param granted as decide() grants it for the demand
 * @return what was noted there before, if that has changed
 */
std::optional<GrantedRequests> note_request(LeaseState &state, const ProcessId &init,
                                            const RemainingRequest &request,
                                            const std::vector<LeaseKey> &granted);

/**
 * Enters what decide() has granted, as enter() does, with what is to be known of it later: how long the container may have
 * it, whether something has begun in the container, and what was chosen for which of its requests.
 * @param remaining what is left of `request`
 * @param ticket of the request, with the container; its number is 0 where it has not waited
 * @throws Error as enter()
 */
Grant enter_grant(const Processes &processes, LeaseState &state, const LeaseRequest &request,
                  const RemainingRequest &remaining, const Ticket &ticket,
                  const std::vector<LeaseKey> &granted, std::int64_t now);

} // namespace ogh
