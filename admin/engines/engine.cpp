// SPDX-License-Identifier: Apache-2.0
#include "engines/engine.h"

#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/text.h"
#include "engines/programs.h"

namespace ogh::admin {

bool EngineKind::is_installed(const Sysroot &sysroot) const
{
    return find_program(sysroot, program_).has_value();
}

Engine EngineKind::new_engine(const std::shared_ptr<const Sysroot> &sysroot) const
{
    Engine engine;
    engine.kind = this;
    engine.name = engine.title = name_;
    engine.rules = way_ == Way::OneDirectory ? DirectoryRules::EveryFile : DirectoryRules::HooksD;
    engine.sysroot = engine.host = sysroot;
    return engine;
}

std::span<const EngineKind *const> engine_kinds()
{
    static const std::array kinds{OGH_ENGINES};
    return kinds;
}

const EngineKind *find_engine_kind(std::string_view name)
{
    const auto kinds = engine_kinds();
    const auto found = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const EngineKind *kind) { return kind->name() == name; });
    return found == kinds.end() ? nullptr : *found;
}

std::vector<std::string> engine_names(const std::vector<EngineKind::Way> &ways)
{
    std::vector<std::string> names;
    for (const EngineKind *const kind : engine_kinds())
        if (ways.empty() || contains(ways, kind->way()))
            names.push_back(kind->name());
    return names;
}

std::vector<Engine> find_engines(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<Engine> engines;
    for (const EngineKind *const kind : engine_kinds())
        for (Engine &engine : kind->find(sysroot))
            engines.push_back(std::move(engine));
    return engines;
}

void read_directories(Engine &engine)
{
    engine.directories.clear();
    for (const std::string &path : engine.directory_paths)
        engine.directories.push_back(read_hook_directory(*engine.sysroot, path, engine.rules));
}

std::vector<std::string> unread(const Engine &engine)
{
    std::vector<std::string> sentences;
    if (engine.is_stopped)
        for (const Finding &finding : engine.findings)
            if (finding.severity == Severity::Error)
                sentences.push_back(finding.text);
    for (const HookDirectory &directory : engine.directories)
        if (!directory.problem.empty())
            sentences.push_back(directory.problem);
    for (const FileInForce &each : files_in_force(engine.directories))
        if (!each.file->problem.empty())
            sentences.push_back(quote(each.file->path) + " cannot be read: " + each.file->problem);
    return sentences;
}

} // namespace ogh::admin
