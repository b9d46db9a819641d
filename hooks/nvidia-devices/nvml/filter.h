// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ogh::nvidia_devices {

/**
 * Has the kernel deny this process what no query of NVIDIA's library needs: sockets, signals to others, other processes,
 * also of its own, and their memory, mounts, namespaces, programs, keys, BPF, io_uring, memory that no limit counts, and
 * calls that libseccomp does not know yet. Everything else stays allowed: which calls the next driver's library makes is
 * not known. To be called by a process with one thread.
 * @return 0, or an error number
 */
int deny_what_no_query_needs();

} // namespace ogh::nvidia_devices
