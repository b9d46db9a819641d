// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "registration/manifest.h"

namespace ogh::admin {

/** What is below it is the archive's. */
inline constexpr const char *archive_share = "/usr/local/share/oci-gpu-hooks";

/** Of what came out of the archive. */
inline constexpr const char *archive_list_path = "/usr/local/share/oci-gpu-hooks/installed";

/**
 * Whether an archive of this package has a file of this name, or had: an absolute path without `.` and `..`. The list may
 * be of somebody's making, and has everything of its root removed that it names.
 */
bool is_archive_name(std::string_view path);

/**
 * What came out of an archive, by the list in the root that it was put into: a hash and a path in a line, or
 * "directory" and the path of one that was made for them.
 */
struct ArchiveList : Manifest {
    std::vector<std::string> directories; ///< that were not there before
    std::vector<std::string> others;      ///< lines that are not as they may be

    ArchiveList() = default;
    explicit ArchiveList(const std::string &text);

    [[nodiscard]] std::string lines() const;

    /** Those that put hooks in effect come first: an engine does without a hook whose executable is missing. */
    void sort_for_removal();
};

} // namespace ogh::admin
