// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lease/lease_state.h"

namespace ogh {

/** Where and when numbers of processes mean something. */
struct ProcessSpace {
    std::string boot;                ///< /proc/sys/kernel/random/boot_id
    std::uint64_t pid_namespace = 0; ///< its inode, which another one may have had before
    std::uint64_t start_time = 0;    ///< of its process 1, in clock ticks since boot

    bool operator==(const ProcessSpace &) const = default;
};

/** What the state file says: the state, and what the pids in it mean. */
struct LeaseFile {
    ProcessSpace space;
    LeaseState state;

    bool operator==(const LeaseFile &) const = default;
};

constexpr unsigned lease_file_version = 2; ///< the latest; 1 is read and written too

/** The first line, with the version behind it. */
constexpr std::string_view lease_file_heading = "oci-gpu-hooks leases ";

/**
 * What a ticket in a file of version 1 has for its program, which nothing goes by, where the one that waits reads later
 * versions too.
 */
constexpr std::string_view mark_of_later = "oci-gpu-hooks/2";

/** What is read of a file by one who waits. */
struct LeaseFilePart {
    LeaseFile file;         ///< without the tickets behind its own
    std::string_view later; ///< these, as lines of the text; none of them has quotas
};

/**
 * Reads the state file: lines of words (see LeaseWords), of these kinds and in this order; what people chose comes last.
 *
 *     oci-gpu-hooks leases 2
 *     space boot= pid-namespace= start=
 *     counters uses= numbers=
 *     holding taken= since= HOLDER [hold-until= hold-grace= stop-signal= [stop-sent=]] [others-cpu=]
 *             [begun=yes] [idle-since=] [rules=] [taker= taker-start=]
 *      device mode= key= [quotas=] [max-sharers=]
 *      request name= devices=
 *     ticket number= hook= hook-start= deadline= since= mode= fixed= any= candidates= HOLDER [quotas=] [max-sharers=] [watches=] [until=]
 *     drain since= key= [until=] [reason=] [by=]
 *     used use= key=
 *     observer ...
 *     deprived ...
 *     end
 *
 * A line with a blank in front belongs to the one above that has none. HOLDER is pid= start= pid-namespace=own|joined
 * inode= controller= cgroup= container= program=. Times are in ns, but `since`, which is in s. Of quotas each is
 * NUMBER:NAME, of rules c:MAJOR:MINOR:ACCESS. The lines of an observer, and of who was deprived of what it had, are those of
 * a holding; the observer's are all shared. Of what a ticket watches each is NUMBER, of a ticket, PID:START, of a container's
 * init, or :TIME, when a drain ends. A later version may add fields, behind those that there are, to all lines but `space`, and lines of other
 * kinds, behind all others of the file or of the line that they belong to: they are kept.
 *
 * Version 1 has the same words without names, `uses NUMBER` and `numbers NUMBER` for the counters, and in a holding, behind
 * `since`, COUNT {MODE KEY}... for the devices; requests have no blank in front. Nothing can be added to it.
 *
 * In either a state has one text only.
 * @throws Error (BrokenHost) if that is no such text, of another version, or says what cannot be
 */
LeaseFile parse_lease_file(std::string_view text);

/**
 * The same, as far as that ticket. All is read if there is no such one, if one that came later has quotas, and of version 1.
 * What stands in lines that are not read may be wrong.
 */
LeaseFilePart parse_lease_file(std::string_view text, std::uint64_t ticket);

/** Adds tickets that were not read. @param lines some of the first of LeaseFilePart::later. @throws as above */
void add_tickets(LeaseState &state, std::string_view lines);

} // namespace ogh
