// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ogh::test {

using Lines = std::vector<std::string>;

/** What a snapshot tells of each entry. */
enum class Detail {
    Everything,  ///< name, type, mode, owner, times of change, size, content
    WithoutTimes ///< the same less times and sizes of directories, which making and removing something changes
};

/** A line for `path` and for everything below it, sorted. Symlinks are read, not followed. */
Lines snapshot(const std::string &path, Detail detail = Detail::Everything);

/** The lines that only one of two snapshots has, with - and + in front. */
Lines differences(const Lines &before, const Lines &after);

} // namespace ogh::test
