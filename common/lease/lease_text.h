// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lease/lease_file.h"

namespace ogh {

/**
 * The text of the state file; parse_lease_file() reads it again, as the same value. Times before 1970 become 0.
 */
std::string to_text(const LeaseFile &file);

/** How many bytes of it an entry takes. */
size_t text_size(const Holding &holding);
size_t text_size(const Ticket &ticket);

} // namespace ogh
