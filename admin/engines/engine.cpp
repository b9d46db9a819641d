// SPDX-License-Identifier: Apache-2.0
#include "engines/engine.h"

namespace ogh::admin {

void read_folders(Engine &engine)
{
    engine.folders.clear();
    for (const std::string &path : engine.folder_paths)
        engine.folders.push_back(read_hook_folder(*engine.sysroot, path, engine.rules));
}

} // namespace ogh::admin
