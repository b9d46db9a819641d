// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/log.h"
#include "edits/edits.h"
#include "nvidia-devices/driver/driver_files.h"
#include "nvidia-devices/image/image.h"
#include "nvidia-devices/request/capabilities.h"

namespace ogh::nvidia_devices {

/** What a container's tree was made for; it is kept in the tree for a later request for the same container. */
struct TreeRecord {
    Capabilities capabilities;
    std::set<unsigned> minors = {}; ///< of /dev/nvidiaN; only where the tree depends on them

    bool operator==(const TreeRecord &) const = default;
};

/** Both. */
TreeRecord joined(const TreeRecord &one, const TreeRecord &other);

/** For the tree. */
std::string to_text(const TreeRecord &record);

/** @return nothing if it is no such record */
std::optional<TreeRecord> parse_tree_record(std::string_view text);

/** Where CUDA images look for the driver: their PATH and LD_LIBRARY_PATH have directories of it. */
constexpr const char *tree_directory = "/usr/local/nvidia";

/** The file in it that says what it was made for. */
constexpr const char *record_name = ".oci-gpu-hooks/nvidia-devices";

/** The driver's user-space files that a container is to have. */
struct DriverTree {
    bool wanted = false;   ///< if not, all else counts for nothing
    bool is_there = false; ///< an earlier request has brought all of it
    TreeRecord record;
    std::string version; ///< of the kernel module
    DriverFiles files;
};

/**
 * Adds to `edits` the tree with the driver's files, and the links that lead to it from where programs look for them.
 * Pure.
 */
void plan_driver_tree(const DriverTree &requested, const Image &image, Edits &edits, Notes &notes);

} // namespace ogh::nvidia_devices
