// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "lease/lease_directory.h"
#include "lease/lease_state.h"
#include "oci/container_label.h"

namespace ogh {

/** What containers are called, by the init of each. */
using LeasePeople = std::map<ProcessId, ContainerLabel>;

/**
 * What is known for people of a container that has leases or waits: a line of the file `people` beside the state, in the
 * words of LeaseLine. It is root's alone to read, as it says who works with what.
 *
 *     container pid= start= name= image= user= asker= bundle=
 */
std::string people_line(const ProcessId &init, const ContainerLabel &label);

/** What such lines say; the last one of a container counts, and a line that cannot be understood says nothing. */
LeasePeople parse_people(std::string_view text);

/**
 * Adds a container's line; with the lock of the leases held. Where the file has become long it is written anew, with the
 * lines of those that the state has. @throws Error
 */
void note_people(const LeaseDirectory &directory, const LeaseState &state, const ProcessId &init,
                 const ContainerLabel &label);

/** The same, if it can be done: what is for people never keeps a container from its GPU, and the list goes without. */
void try_to_note_people(const LeaseDirectory &directory, const LeaseState &state, const ProcessId &init,
                        const ContainerLabel &label);

/** @return nothing for whoever may not read it, and where it cannot be read: it is for people alone */
LeasePeople read_people(const LeaseDirectory &directory);

} // namespace ogh
