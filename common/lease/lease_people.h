// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/lease_directory.h"
#include "lease/lease_file.h"
#include "lease/lease_state.h"

namespace ogh {

/**
 * Notes what is known for people of a container that has leases or waits, with the lock of the leases held; of those that the
 * state does not have any more nothing is kept. The file is root's alone to read, as it says who works with what.
 * @throws Error
 */
void note_people(const LeaseDirectory &directory, const LeaseState &state, const ProcessId &init,
                 const ContainerLabel &label);

/** The same, if it can be done: what is for people never keeps a container from its GPU, and the list goes without. */
void try_to_note_people(const LeaseDirectory &directory, const LeaseState &state, const ProcessId &init,
                        const ContainerLabel &label);

/** @return nothing for whoever may not read it, and where it cannot be read: it is for people alone */
LeasePeople read_people(const LeaseDirectory &directory);

} // namespace ogh
