// SPDX-License-Identifier: Apache-2.0
#include "engines/engine.h"

#include "base/text.h"

namespace ogh::admin {

void read_folders(Engine &engine)
{
    engine.folders.clear();
    for (const std::string &path : engine.folder_paths)
        engine.folders.push_back(read_hook_folder(*engine.sysroot, path, engine.rules));
}

std::vector<std::string> unread(const Engine &engine)
{
    std::vector<std::string> sentences;
    if (engine.is_stopped)
        for (const Finding &finding : engine.findings)
            if (finding.severity == Severity::Error)
                sentences.push_back(finding.text);
    for (const HookFolder &folder : engine.folders)
        if (!folder.problem.empty())
            sentences.push_back(folder.problem);
    for (const FileInForce &each : files_in_force(engine.folders))
        if (!each.file->problem.empty())
            sentences.push_back(quote(each.file->path) + " cannot be read: " + each.file->problem);
    return sentences;
}

} // namespace ogh::admin
