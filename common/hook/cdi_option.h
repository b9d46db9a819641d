// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "hook/options.h"
#include "host/sysroot.h"
#include "listing/cdi_spec.h"

namespace ogh {

/** What --cdi does not go with. @throws Error (Usage) for what asks, or says who may ask: the device does */
void check_cdi(bool cdi, bool list, const CommonOptions &options);

/** What is printed. */
struct CdiRequest {
    std::string hook;
    std::vector<std::string>
        words; ///< the whole command line: its options are those that the hook is called with
    bool with_libraries = false; ///< ldcache-update is called too, where it lies beside this executable
    std::string max_wait = "0s"; ///< how long the hook may wait
    std::vector<CdiDevice> devices;
    std::string kind; ///< "" is the hook's own
};

/**
 * @param sysroot in front of the executable's path, which the specification does not have
 * @param notes which devices are left out
 * @throws SystemError if /proc/self/exe cannot be read
 */
std::string cdi_text(const CdiRequest &request, const Sysroot &sysroot, Notes &notes);

/** How long a runtime is to let a hook run that may wait for so long ("5m"; "" for none): longer than it takes itself. */
std::chrono::seconds hook_timeout(const std::string &max_wait);

} // namespace ogh
