// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lease/lease_file.h"

namespace ogh {

/**
 * The text of the state file; parse_lease_file() reads it again, as the same value. Times before 1970 become 0.
 * @throws Error (Host) if it is larger than max_lease_file
 */
std::string to_text(const LeaseFile &file);

} // namespace ogh
