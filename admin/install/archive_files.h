// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ogh::admin {

/** A file that came out of the archive: a line of the list of these in the root that they were put into. */
struct ArchiveFile {
    std::string hash; ///< SHA-256
    std::string path;
};

/** Where that list lies. */
inline constexpr const char *archive_list = "/usr/local/share/oci-gpu-hooks/installed";

/**
 * Whether an archive of this package has a file of this name, or had: an absolute path without `.` and `..`. The list may
 * be of somebody's making, and has everything of its root removed that it names.
 */
bool is_archive_name(std::string_view path);

/** @return the files of the list that are named as they may be, and the lines that are not */
struct ArchiveList {
    std::vector<ArchiveFile> files;
    std::vector<std::string> others;

    static ArchiveList parse(const std::string &text);

    [[nodiscard]] std::string to_text() const;

    /** @return nullptr if there is none of that path */
    [[nodiscard]] const ArchiveFile *find(std::string_view path) const;
};

/** Those that put hooks in force come first: an engine does without a hook whose executable is missing. */
void sort_for_removal(std::vector<ArchiveFile> &files);

} // namespace ogh::admin
