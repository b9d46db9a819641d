// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "kernel/mount_table.h"

namespace ogh {

/**
 * At what a process stands still that has not come to its end in time, in words that follow "gave up".
 * @param pid of the process, as awaited_path() takes it
 * @param rootfs of the container on the host: what is below it is named as the container does; "" for no container
 * @param served the mounts that may be at fault. Those in the container are named, or all if it has none
 */
std::string describe_stall(pid_t pid, const std::string &rootfs, const std::vector<TypedMount> &served);

} // namespace ogh
