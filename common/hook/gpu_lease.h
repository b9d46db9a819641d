// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "hook/hook.h"
#include "hook/lease_options.h"
#include "host/sysroot.h"
#include "lease/leases.h"
#include "request/availability.h"
#include "request/selection.h"

namespace ogh {

/**
 * What the container and the host's options say of a lease: how it is had, waited for and counted; not yet of what.
 * @throws Error as lease_terms() and quotas_of()
 */
LeaseRequest lease_request(const Hook &hook, const Request &asked, const LeaseOptions &options);

/**
 * Refuses a wait that the runtime would cut short: one that config.json has this executable with a timeout for that is
 * not at least five seconds longer.
 * @throws Error (Usage)
 */
void check_timeout(const std::vector<HookEntry> &hooks, std::chrono::seconds wait);

/** What of the host's GPUs is looked at when a lease is taken. */
struct GpuLooks {
    std::function<const std::vector<Candidate> &()> again; ///< the GPUs as they are now
    FindGpuUsers users;
};

/**
 * Takes leases of what the choice means, as lease_request() has it, or waits for them, and puts on the hook's undo log that they are given back.
 * @param looks after a wait: what cannot be given any more is passed by, and others are waited for; who uses GPUs is
 *        asked where that makes a difference
 * @throws Error as Leases::take() does
 */
std::shared_ptr<Lease> take_lease(Hook &hook, const Sysroot &sysroot, const Choice &choice,
                                  const std::vector<Candidate> &candidates, const GpuLooks &looks,
                                  LeaseRequest request, Notes &notes);

/**
 * The same for devices that leave no choice.
 * @param name_device for messages
 */
std::shared_ptr<Lease> take_lease(Hook &hook, const Sysroot &sysroot, std::vector<LeaseKey> keys,
                                  LeaseRequest request, NameDevice name_device, Notes &notes);

/**
 * Writes down that the container sees these devices without a lease, as far as this host keeps leases; not with --plan.
 * @param chosen places in `candidates`
 * @throws Error as Leases::observe() does
 */
void note_observer(Hook &hook, const Sysroot &sysroot, const std::vector<size_t> &chosen,
                   const std::vector<Candidate> &candidates);

/**
 * Where the devices are in the list, which may have been read anew since the lease was taken.
 * @return ascending
 * @throws Error (NotAvailable) if one is not there any more; its own code for its problem
 */
std::vector<size_t> indices_of(const std::vector<LeaseKey> &keys, const std::vector<Candidate> &candidates);

/**
 * --drain, --undrain: keeps the devices from being given, or not any more.
 * @param options as check() accepts them, with one of the two
 * @throws Error: NotAvailable if there is none of them; BrokenHost if this process is not the host's root
 */
void drain(const Sysroot &sysroot, const Selectors &selectors, const std::vector<Candidate> &candidates,
           const LeaseOptions &options);

} // namespace ogh
