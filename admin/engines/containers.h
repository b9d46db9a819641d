// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "host/sysroot.h"

namespace ogh::admin {

/** A container that a runtime has made and that has not ended; what it says of itself is its author's. */
struct RunningContainer {
    std::string id;
    std::string runtime; ///< "runc", "crun"
    pid_t pid;           ///< of its init process
    std::string bundle;
    std::string problem; ///< why its config.json cannot be read; the rest is empty then
    std::map<std::string, std::string> annotations;
    std::vector<std::string> hooks; ///< the paths of all that its config.json names
};

/**
 * Those of runc and crun in the folders where they keep their state by default, and where docker and containerd have
 * them keep it; by id.
 */
std::vector<RunningContainer> find_containers(const Sysroot &sysroot);

} // namespace ogh::admin
