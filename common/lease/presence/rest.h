// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ogh {

/**
 * Whether a signal would wake the process, by its /proc/PID/stat (fields 3 and 9). What sleeps deeper may hold the lock of its
 * memory, for which whoever lists its mapped files waits; and one that is ending shows none of the files that it still closes.
 */
bool sleeps_lightly(std::string_view stat);

/**
 * Whether the process sleeps in a system call that takes no file, by its /proc/PID/syscall: the number of the call and its
 * arguments. A call keeps what it was given, whoever closes the descriptor meanwhile, and no list of /proc shows that. Not for a
 * program of another architecture, whose calls have other numbers.
 */
bool waits_for_no_file(std::string_view call);

} // namespace ogh
