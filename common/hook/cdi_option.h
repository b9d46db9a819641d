// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "hook/options.h"
#include "host/sysroot.h"
#include "listing/cdi_spec.h"

namespace ogh {

/** What --cdi does not go with. @throws Error (Usage) for what asks, or says who may ask: the device does */
void check_cdi(bool cdi, bool list, const CommonOptions &options);

/**
 * What is printed.
 * @param spec without its executables. Of its options, which are the whole command line, those are left out that are for this
 *        process alone: where it is to look, and what it prints
 * @param with_libraries ldcache-update is called too, where it lies beside this executable
 * @param sysroot in front of the executable's path, which the specification does not have
 * @param notes which devices are left out
 * @throws SystemError if /proc/self/exe cannot be read
 */
std::string cdi_text(CdiSpec spec, bool with_libraries, const Sysroot &sysroot, Notes &notes);

/** How long a runtime is to let a hook run that may wait for so long: longer than it takes itself. */
std::chrono::seconds hook_timeout(std::chrono::seconds max_wait);

} // namespace ogh
