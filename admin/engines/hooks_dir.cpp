// SPDX-License-Identifier: Apache-2.0
#include "engines/hooks_dir.h"

#include <dirent.h>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "engines/programs.h"
#include "engines/toml_file.h"
#include "kernel/directory_entries.h"

namespace ogh::admin {

namespace {

constexpr size_t max_drop_ins = 128;
constexpr size_t max_hook_directories = 16;

void read_file(Engine &engine, const HooksDirOption &option, const std::string &path)
{
    const auto directories = read_texts(*engine.sysroot, path, option.table + ".hooks_dir");
    if (!directories)
        return;
    if (directories->size() > max_hook_directories)
        throw Error(ErrorKind::BrokenHost, quote(path) + ": hooks_dir names more than " +
                                               std::to_string(max_hook_directories) + " directories");
    engine.directory_paths = *directories;
    engine.directories_from = "hooks_dir of " + quote(path);
    engine.directories_file = path;
}

void stop(Engine &engine, const Error &error, const char *what)
{
    engine.is_stopped = true;
    engine.findings.push_back(
        {Severity::Error, error.what(),
         std::string("fix the ") + what + ": " + engine.name + " starts no container like this"});
}

} // namespace

std::vector<std::string> HooksDirKind::configuration(const Sysroot &sysroot) const
{
    std::vector<std::string> paths = option_.files;
    const auto place = sysroot.find(option_.drop_ins);
    if (!place)
        return paths;
    const DirectoryListing listing{quote(option_.drop_ins),
                                   [&](std::string_view name) { return name.ends_with(option_.suffix); },
                                   max_drop_ins, ErrorKind::BrokenHost};
    for (const DirectoryEntry &entry : list_directory(place->fd.get(), listing))
        if (entry.type != DT_DIR)
            paths.push_back(option_.drop_ins + "/" + entry.name);
    return paths;
}

std::string HooksDirKind::runtime(const Sysroot &sysroot) const
{
    std::string found;
    for (const std::string &path : configuration(sysroot)) {
        const auto document = read_toml(sysroot, path);
        const auto *const value = document ? find_in(*document, split_list(option_.runtime, '.')) : nullptr;
        if (value != nullptr && value->is_string())
            found = file_name_of(value->get<std::string>());
    }
    if (found.empty())
        for (const char *const name : option_.usual_runtimes)
            if (find_program(sysroot, name))
                return name;
    return found;
}

std::vector<Engine> HooksDirKind::find(const std::shared_ptr<const Sysroot> &sysroot) const
{
    if (!is_installed(*sysroot))
        return {};
    Engine engine = new_engine(sysroot);
    engine.remedy = "have in a file of " + option_.drop_ins + ", below [" + option_.table +
                    R"(]: hooks_dir = ["/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d"])";
    engine.directory_paths = {
        "/usr/share/containers/oci/hooks.d"}; // DefaultDir of pkg/hooks in containers/common
    engine.directories_from = "its default";
    std::vector<std::string> files;
    try {
        files = configuration(*sysroot);
    } catch (const Error &error) {
        stop(engine, error, "directory");
    }
    for (const std::string &path : files) {
        try {
            read_file(engine, option_, path);
        } catch (const Error &error) {
            stop(engine, error, "file");
        }
    }
    read_directories(engine);
    return {std::move(engine)};
}

} // namespace ogh::admin
