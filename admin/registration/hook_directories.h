// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/sysroot.h"
#include "registration/hook_file.h"

namespace ogh::admin {

/** How an engine chooses among the files of its directories. */
enum class DirectoryRules {
    HooksD, ///< *.json, the later directory's file of a name alone, in the order of the names in small letters
    EveryFile ///< one directory, whatever the names; `when` is ignored: Concourse, worker/runtime/backend.go
};

/** One directory that an engine reads. */
struct HookDirectory {
    std::string path;
    bool exists = false;
    std::string problem;         ///< why it cannot be read, or is not what it should be
    std::vector<HookFile> files; ///< that the engine takes for registrations, by name
};

/** Reads one directory, as the engine would. @param sysroot the engine's files */
HookDirectory read_hook_directory(const Sysroot &sysroot, const std::string &path, DirectoryRules rules);

/** A file that an engine uses, and those that it therefore does not. */
struct FileInForce {
    const HookFile *file;
    std::vector<const HookFile *> replaced; ///< of the same name, in directories that it reads before
};

/**
 * In the order in which the engine calls them; it refers to the directories. A file whose executable is missing is none
 * of them, and takes no other one's place: readDir in pkg/hooks of containers/common.
 */
std::vector<FileInForce> files_in_force(const std::vector<HookDirectory> &directories);

} // namespace ogh::admin
