// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <climits>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "lease/state/lease_state.h"
#include "oci/container_label.h"

namespace ogh {

// The files of leases are JSON documents, in one line each. Their members are those of the types, by the same names; one that
// is not always there is left out where a new value has it. Of a set the members are an array.
//
//     state     {"version":1, "space":ProcessSpace, and the members of LeaseState}
//     people    {"people":[{"init":ProcessId, and the members of ContainerLabel}, ...]}
//
// In a text (a container may choose its cgroup's) each byte that is not printable, or not UTF-8, and the backslash, is \xNN.
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

/**
 * How much there may be in the files of leases. Each container has a bounded part of them, so that whatever one chooses (its
 * name, its cgroup) takes nothing of another's. All lengths are those of the file, in which a byte may take five.
 */
constexpr size_t max_lease_containers = 4096;         ///< that have devices, see them or wait for some
constexpr size_t max_lease_entry = size_t{64} << 10U; ///< of one of them; some hundreds of devices
constexpr size_t max_container_word = NAME_MAX;       ///< of its id
constexpr size_t max_path_word = PATH_MAX - 1;        ///< of its cgroup
constexpr size_t max_device_word = 1024;
constexpr size_t max_quota_word = NAME_MAX; ///< of its name, with its kind
constexpr size_t max_used_devices = 4096;   ///< of which it is known when they were given last

constexpr size_t max_label_word = NAME_MAX; ///< of what people call it, of a user and of an asker
constexpr size_t max_label_path = 1024;     ///< of an image, and of a bundle

/** In bytes. They follow from the others, with 4 MiB for what root has drained. */
constexpr size_t max_lease_file = (size_t{4} << 20U) + max_lease_containers * max_lease_entry +
                                  2 * max_used_devices * (max_device_word + 128);
constexpr size_t max_people_file = 2 * max_lease_containers * (3 * max_label_word + 2 * max_label_path + 256);

/** Before another container gets an entry. @throws Error (BrokenHost) if there is no room for it */
void require_room(const LeaseState &state);

/** @throws Error (Usage) if it is too long to be written down */
void check_quota_name(const std::string &name);

/** @throws Error (BrokenHost) if the entry is too long, which only what its own container asks for can make it */
void check_entry(const Allocation &allocation);
void check_entry(const Ticket &ticket);

/** The beginnings of its texts. */
ContainerLabel within_bounds(const ContainerLabel &label);

/** Whether what it watches is too much to be written down, which others make it. */
bool watches_too_much(const Ticket &ticket);

} // namespace ogh
