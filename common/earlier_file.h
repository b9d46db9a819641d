// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "host_proc.h"
#include "root.h"

namespace ogh {

/**
 * What an earlier request has left in a tmpfs of ours in this container, which is not entered yet: what is brought
 * along depends on it.
 * @param pid of the container's init
 * @param root as of Root::before_entering()
 * @param path absolute inside the container
 * @return nothing if there is no such file, or it is not on a tmpfs of ours: an image may have one of that name
 */
std::optional<std::string> read_earlier_file(pid_t pid, const Root &root, const HostProc &proc,
                                             const std::string &path);

} // namespace ogh
