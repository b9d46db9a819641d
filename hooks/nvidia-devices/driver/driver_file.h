// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernel/inode.h"
#include "loader/glibc_versions.h"

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

} // namespace ogh::nvidia_devices
