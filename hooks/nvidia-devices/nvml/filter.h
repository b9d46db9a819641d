// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ogh::nvidia_devices {

/**
 * Has the kernel deny this process, and all that it starts, what no query of NVIDIA's library needs: sockets, signals to
 * others, other processes' memory, mounts, namespaces, programs, keys, BPF, io_uring. Everything else stays allowed: which
 * calls the next driver's library makes is not known. To be called by a process with one thread.
 * @return 0, or an error number
 */
int deny_what_no_query_needs();

} // namespace ogh::nvidia_devices
