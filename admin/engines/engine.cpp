// SPDX-License-Identifier: Apache-2.0
#include "engines/engine.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/contains.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "engines/programs.h"
#include "engines/toml_file.h"
#include "kernel/directory_entries.h"

namespace ogh::admin {

bool EngineKind::is_installed(const Sysroot &sysroot) const
{
    return find_program(sysroot, program) ||
           std::any_of(program_directories.begin(), program_directories.end(),
                       [&](const char *directory) { return sysroot.find(path_in(directory, program)); });
}

bool EngineKind::takes(std::string_view option) const
{
    return contains(install_options, option);
}

std::vector<std::string> EngineKind::configuration(const Sysroot &sysroot) const
{
    constexpr size_t max_drop_ins = 128;
    std::vector<std::string> paths = configuration_files;
    const auto place = hooks_dir ? sysroot.find(hooks_dir->drop_ins) : std::nullopt;
    if (!place)
        return paths;
    const DirectoryListing listing{quote(hooks_dir->drop_ins),
                                   [&](std::string_view each) { return each.ends_with(hooks_dir->suffix); },
                                   max_drop_ins, ErrorKind::BrokenHost};
    for (const DirectoryEntry &entry : list_directory(place->fd.get(), listing))
        if (entry.type != DT_DIR)
            paths.push_back(path_in(hooks_dir->drop_ins, entry.name));
    return paths;
}

std::string EngineKind::runtime(const Sysroot &sysroot) const
{
    std::string found;
    if (!hooks_dir)
        return found;
    for (const std::string &path : configuration(sysroot)) {
        const auto document = read_toml(sysroot, path);
        const auto *const value =
            document ? find_in(*document, split_list(hooks_dir->runtime, '.')) : nullptr;
        if (value != nullptr && value->is_string())
            found = file_name_of(value->get<std::string>());
    }
    if (found.empty())
        for (const char *const usual : hooks_dir->usual_runtimes)
            if (find_program(sysroot, usual))
                return usual;
    return found;
}

Engine EngineKind::new_engine(const std::shared_ptr<const Sysroot> &sysroot) const
{
    Engine engine;
    engine.kind = this;
    engine.title = name;
    engine.rules = way == Way::OneDirectory ? DirectoryRules::EveryFile : DirectoryRules::HooksD;
    engine.sysroot = engine.host = sysroot;
    return engine;
}

std::string filled(std::string text, std::string_view word, const std::string &value)
{
    const size_t at = text.find(word);
    return at == std::string::npos ? text : text.replace(at, word.size(), value);
}

std::optional<DottedVersion> version_of(const Sysroot &sysroot, const std::string &program)
{
    constexpr std::chrono::seconds limit{10};
    const auto path = is_this_host(sysroot) ? find_program(sysroot, program) : std::nullopt;
    try {
        const auto opened = path ? open_program(*path) : std::nullopt;
        if (!opened)
            return std::nullopt;
        // "podman version 4.3.1", "containerd github.com/containerd/containerd v1.7.24 88bf19b"
        for (const std::string &word :
             split_list(last_line(run_program(*opened, {program, "--version"}, limit).out), ' '))
            if (auto version = DottedVersion::parse_start(word.starts_with('v') ? word.substr(1) : word))
                return version;
    } catch (const Error &) {
        return std::nullopt; // whoever has to know says so
    }
    return std::nullopt;
}

std::span<const EngineKind *const> engine_kinds()
{
    static const std::array kinds{OGH_ENGINES};
    return kinds;
}

const EngineKind *find_engine_kind(std::string_view name)
{
    const auto kinds = engine_kinds();
    const auto found =
        std::find_if(kinds.begin(), kinds.end(), [&](const EngineKind *kind) { return kind->name == name; });
    return found == kinds.end() ? nullptr : *found;
}

std::vector<std::string> engine_names()
{
    std::vector<std::string> names;
    for (const EngineKind *const kind : engine_kinds())
        names.push_back(kind->name);
    return names;
}

std::vector<Engine> find_engines(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<Engine> engines;
    for (const EngineKind *const kind : engine_kinds())
        for (Engine &engine : kind->find(*kind, sysroot))
            engines.push_back(std::move(engine));
    return engines;
}

bool is_among(const std::vector<Engine> &engines, const EngineKind &kind)
{
    return std::any_of(engines.begin(), engines.end(),
                       [&](const Engine &engine) { return engine.kind == &kind; });
}

bool calls_hooks(const Engine &engine)
{
    const auto files = files_in_effect(engine.directories);
    return std::any_of(files.begin(), files.end(),
                       [](const FileInEffect &each) { return each.file->ours != nullptr; });
}

void read_directories(Engine &engine)
{
    engine.directories.clear();
    for (std::string &path : engine.directory_paths) {
        while (path.size() > 1 && path.ends_with('/'))
            path.pop_back();
        engine.directories.push_back(read_hook_directory(*engine.sysroot, path, engine.rules));
    }
}

} // namespace ogh::admin
