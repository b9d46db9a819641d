// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engines/engine.h"

namespace ogh::admin {

/** Where an engine's option hooks_dir stands. podman and CRI-O have one of that name. */
struct HooksDirOption {
    std::string table; ///< "engine"
    std::vector<std::string>
        files;            ///< in the order in which the engine reads them: the last that has it wins
    std::string drop_ins; ///< the folder of further files, by name, read after these
    std::string suffix;   ///< that their names have
    std::vector<std::string> default_folders; ///< where no file has it
};

/**
 * The files of a folder whose names have the suffix, by their paths, sorted.
 * @throws Error (BrokenHost) if it cannot be read, or has too many
 */
std::vector<std::string> drop_ins(const Sysroot &sysroot, const std::string &folder,
                                  const std::string &suffix);

/** Sets folder_paths, folders_from and findings of the engine by its files. */
void read_hooks_dir(Engine &engine, const HooksDirOption &option);

} // namespace ogh::admin
