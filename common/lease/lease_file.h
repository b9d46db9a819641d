// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "lease/lease_state.h"
#include "oci/container_label.h"

namespace ogh {

// The files of leases are JSON documents, in one line each. Their members are those of the types, by the same names; one that
// is not always there is left out where a new value has it. Of a set the members are an array.
//
//     state     {"version":1, "space":ProcessSpace, and the members of LeaseState}
//     people    {"people":[{"init":ProcessId, and the members of ContainerLabel}, ...]}
//
// In a text (a container chooses its program's) each byte that is not printable, or not UTF-8, and the backslash, is \xNN.
// A value has one text only.

constexpr unsigned lease_file_version = 1;

/**
 * Reads the state file.
 * @throws Error (BrokenHost) if that is not what to_text() writes: of another version, with members that are not known, are
 *         missing or come twice, or if it says what cannot be
 */
LeaseFile parse_lease_file(std::string_view text);

/** The text of the state file; parse_lease_file() reads it again, as the same value. Times before 1970 become 0. */
std::string to_text(const LeaseFile &file);

/** What containers are called, by the init of each. */
using LeasePeople = std::map<ProcessId, ContainerLabel>;

/** The same for the other file. @throws as above */
LeasePeople parse_people(std::string_view text);
std::string to_text(const LeasePeople &people);

/** How many bytes of the file that takes; of a text without the quotes. */
size_t stored_size(std::string_view text);
size_t stored_size(const Allocation &allocation);
size_t stored_size(const Ticket &ticket);

/** The longest beginning of the text that takes at most `most` bytes. */
std::string_view beginning_of(std::string_view text, size_t most);

} // namespace ogh
