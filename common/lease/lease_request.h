// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "lease/presence/gpu_users.h"
#include "lease/rules/busy_text.h"
#include "lease/rules/preemption.h"
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
    std::string container;         ///< its id, from the state
    std::string program = {};      ///< process.args[0] of config.json, or ""
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

} // namespace ogh
