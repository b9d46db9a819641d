// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lease/lease_file.h"

namespace ogh {

/** The latest version of the file that everybody reads who waits by it; version 1 as long as such a program waits. */
unsigned version_for(const LeaseState &state);

/** What stands before the tickets that are not in a state, and what stands behind them. */
struct LeaseTextParts {
    std::string before;
    std::string behind;
};

/**
 * The text of the state file; parse_lease_file() reads it again, as the same value. Times before 1970 become 0.
 * @param version 1 or 2. @throws Error (BrokenHost) if the state has something that version 1 cannot say
 */
std::string to_text(const LeaseFile &file, unsigned version);

/** The same in version_for() it. */
std::string to_text(const LeaseFile &file);
LeaseTextParts to_parts(const LeaseFile &file);

/** How many bytes of it an entry takes, in version 2. */
size_t text_size(const Allocation &allocation);
size_t text_size(const Ticket &ticket);

} // namespace ogh
