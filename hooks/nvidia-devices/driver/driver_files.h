// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "kernel/inode.h"
#include "nvidia-devices/driver/driver_root.h"
#include "nvidia-devices/driver/library_search.h"
#include "nvidia-devices/request/capabilities.h"

namespace ogh::nvidia_devices {

/** Any other file of the driver's. */
struct DriverFile {
    std::string host_path; ///< as this process names it, without symlinks
    std::string tree_path; ///< below the tree: "bin/nvidia-smi", "share/vulkan/icd.d/nvidia_icd.json"
    /**
     * Where programs look for it, beside PATH: absolute; "" if nowhere else.
     * Never a directory that others share: the link would take it from the image's packages.
     */
    std::string standard_path = {};
    Kind kind = Kind::File;
    bool read_only = true;
    std::string text = {};        ///< of one that names libraries, as names_libraries() has it
    std::string interpreter = {}; ///< of a program: the loader that it names by its path; "" if it needs none

    bool operator==(const DriverFile &) const = default;
};

/** What a container gets of the driver's user-space files. */
struct DriverFiles {
    std::vector<DriverLibrary> libraries;
    std::vector<DriverFile> files;
};

/** The one for 64 bits that a program finds by this name, its SONAME or its own. @return nullptr if there is none */
const DriverLibrary *find_library(const std::vector<DriverLibrary> &libraries, std::string_view name);

/**
 * Finds the driver's files. No library of the driver is loaded, and no program run.
 * @param places symlinks are followed below the driver's root
 * @param version of the kernel module; the driver's files end in it
 * @param required what a capability that was named cannot work without must be there
 * @param notes gets what `all` leaves out, what is there and of no use, and why a loader cache was of none
 * @return libraries for 64 bits before those for 32, in the order of library_names(), and those behind them that no
 *         table names; files in the order of their tables
 * @throws Error as open_driver_root(); (BrokenHost) if a named capability cannot work with what there is, or looking itself fails; (Usage) if
 *         compat32 alone is wanted
 */
DriverFiles read_driver_files(const DriverPlaces &places, const std::string &version,
                              const Capabilities &capabilities, bool required, Notes &notes);

} // namespace ogh::nvidia_devices
