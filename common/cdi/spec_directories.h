// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "cdi/spec.h"
#include "cdi/spec_parser.h"
#include "host/sysroot.h"

namespace ogh::cdi {

/** A file with a specification. */
struct SpecFile {
    std::string path;
    size_t directory = 0; ///< which of the directories it lies in; what is in a later one wins
    Spec spec = {};
};

/** The directories that engines read. */
inline const std::vector<std::string> default_directories{"/etc/cdi", "/var/run/cdi"};

/**
 * Reads all files of the directories, `.json` and `.yaml`, in the order of their names. A directory that does not exist
 * has none.
 * @param is_wanted as for parse_spec()
 * @param notes why a file is passed over: it is no valid specification, or somebody else than root could have written
 * it
 * @throws Error (BrokenHost) if somebody else could put files into a directory
 */
std::vector<SpecFile> read_directories(const Sysroot &sysroot, const std::vector<std::string> &directories,
                                       const IsWanted &is_wanted, Notes &notes);

} // namespace ogh::cdi
