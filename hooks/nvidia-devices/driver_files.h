// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "capabilities.h"
#include "glibc_versions.h"
#include "host_path.h"
#include "log.h"
#include "root.h"

namespace ogh::nvidia_devices {

/** A shared library of the driver, as this host has it. */
struct DriverLibrary {
    std::string file;      ///< its own name: "libcuda.so.555.42.07"
    std::string host_path; ///< as this process names it, without symlinks
    std::string soname;    ///< DT_SONAME; "" if it has none
    bool is_32 = false;    ///< for 32-bit programs
    GlibcVersions needed_glibc = {};

    bool operator==(const DriverLibrary &) const = default;
};

/** Any other file of the driver's. */
struct DriverFile {
    std::string host_path; ///< as this process names it, without symlinks
    std::string tree_path; ///< below the tree: "bin/nvidia-smi", "share/vulkan/icd.d/nvidia_icd.json"
    /**
     * Where programs look for it, beside PATH: absolute, or below the image's folder of X.Org; "" if nowhere else.
     * Never a folder that others share: the link would take it from the image's packages.
     */
    std::string standard_path = {};
    Kind kind = Kind::File;
    bool read_only = true;

    bool operator==(const DriverFile &) const = default;
};

/** What a container gets of the driver's user-space files. */
struct DriverFiles {
    std::vector<DriverLibrary> libraries;
    std::vector<DriverFile> files;
};

/** Which files are asked for. */
struct FilesRequest {
    std::string version; ///< of the kernel module; the driver's files end in it
    Capabilities capabilities;
    bool required = true; ///< what a capability that was named cannot work without must be there
};

/**
 * Finds the driver's files. No library of the driver is loaded, and no program run.
 * @param root where the driver's files are, --driver-root; symlinks are followed below it
 * @param notes gets what `all` leaves out, and why a loader cache was of no use
 * @return libraries for 64 bits before those for 32, in the order of library_names(), and those behind them that no
 *         table names; files in the order of their tables
 * @throws Error (Host) if a named capability cannot work with what there is, or looking itself fails; (Usage) if
 *         compat32 alone is wanted
 */
DriverFiles read_driver_files(const Sysroot &root, const FilesRequest &request, Notes &notes);

} // namespace ogh::nvidia_devices
