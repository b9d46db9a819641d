// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/sysroot.h"
#include "install/host_writer.h"
#include "install/manifest.h"

namespace ogh::admin {

/** What becomes of what was installed. */
struct Removal {
    std::vector<std::string> gone; ///< paths that are removed, in this order
    std::vector<std::string> kept; ///< a sentence for each file that stays although it was to go
    Manifest left;                 ///< what stays known
};

/**
 * The files that were written for the engine, those of hooks first: once hooks_dir is not there, a file with a policy
 * would not count and an installed one without it would.
 * @param engine nothing: every engine
 */
Removal plan_removal(const Manifest &manifest, const std::optional<std::string> &engine,
                     const std::shared_ptr<const Sysroot> &sysroot, const HostWriter &writer);

/** "container '3f2a…' has GPU 0 by nvidia-devices", for each container that has leases; by each installed hook. */
std::vector<std::string> containers_with_gpus(const std::shared_ptr<const Sysroot> &sysroot);

} // namespace ogh::admin
