// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "image/image_reader.h"
#include "libraries/directory_libraries.h"

namespace ogh {

/** Directories of the container, absolute, none twice. */
struct InjectedDirectories {
    std::vector<std::string> all;
    std::vector<std::string> asked_for; ///< those of `all` without which the container is not to start
    /**
     * Those of `all` that another hook has put in: there each file and link has an entry by its own name too, see
     * add_file_names(). A driver asks for files of its own by names that are no SONAMEs; on a host they mostly lie
     * where the loader looks by itself.
     */
    std::vector<std::string> put_in = {};
};

/** How many names of libraries are looked at for one container, in all of its directories. */
constexpr size_t max_library_files = 32768;

/**
 * The libraries in the directories and in their glibc-hwcaps subdirectories, of which only headers are read. A
 * directory that has several names, by symlinks or mounts, is read once, under the first.
 * @param reader as of ReadAs::Process: the directories may lie in volumes
 * @param notes files that have a library's name and are none, and directories that are left out
 * @throws Error: NotAvailable if a directory that was asked for is not there or may not be read; Failure if they hold
 * more than max_library_files
 */
std::vector<AddedLibrary> read_injected_directories(const ImageReader &reader,
                                                    const InjectedDirectories &directories, Notes &notes);

} // namespace ogh
