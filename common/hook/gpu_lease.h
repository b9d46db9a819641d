// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edits/edits.h"
#include "hook/hook.h"
#include "hook/lease_options.h"
#include "host/sysroot.h"
#include "lease/leases.h"
#include "request/availability.h"
#include "request/selection.h"

namespace ogh {

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
std::shared_ptr<Lease> take_lease(Hook &hook, const Choice &choice, const std::vector<Candidate> &candidates,
                                  const GpuLooks &looks, LeaseRequest request);

/**
 * The same for devices that leave no choice.
 * @param name_device for messages
 */
std::shared_ptr<Lease> take_lease(Hook &hook, std::vector<LeaseKey> keys, LeaseRequest request,
                                  NameDevice name_device);

/** Carries the edits out, and has the container keep the lease, if there is one. @throws Error */
void carry_out(Hook &hook, const Edits &edits, const std::shared_ptr<Lease> &lease);

/**
 * Writes down that the container sees these devices without a lease, as far as this host keeps leases; not with --plan.
 * @param chosen places in `candidates`
 * @throws Error as Leases::observe() does
 */
void note_observer(Hook &hook, const std::vector<size_t> &chosen, const std::vector<Candidate> &candidates);

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

/** run_hook() for one that gives leased devices, with the capabilities that device nodes, device cgroups and preemption take. */
int run_device_hook(const char *name, const char *description, const std::function<void(Hook &)> &body);

} // namespace ogh
