// SPDX-License-Identifier: Apache-2.0
#include "engines/hooks_dir.h"

#include <dirent.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "engines/toml_file.h"
#include "kernel/folder_entries.h"

namespace ogh::admin {

namespace {

constexpr const char *key = "hooks_dir";
constexpr size_t max_drop_ins = 128;
constexpr size_t max_hook_folders = 16;

/** What somebody may have meant to be the option: hook_dir, hooks-dir, hooksdir, hooks_dirs. */
bool looks_like_it(const std::string &name)
{
    return name != key && name.starts_with("hook") && name.find("dir") != std::string::npos;
}

Findings misplaced(const TomlFile &file, const std::string &table)
{
    Findings findings;
    const std::string remedy = "write it as 'hooks_dir' below [" + table + "]";
    for (const std::string &name : file.keys(table))
        if (looks_like_it(name))
            findings.push_back({Severity::Error,
                                quote(file.path()) + " has " + quote(name) + " in [" + table +
                                    "], which is no option: it is ignored",
                                remedy});
    for (const std::string &other : file.tables_with(key))
        if (other != table)
            findings.push_back({Severity::Error,
                                quote(file.path()) + " has hooks_dir " +
                                    (other.empty() ? "outside of any table" : "in [" + other + "]") +
                                    ", where it is ignored",
                                remedy});
    return findings;
}

void read_file(Engine &engine, const HooksDirOption &option, const std::string &path)
{
    const auto file = TomlFile::read(*engine.sysroot, path);
    if (!file)
        return;
    add(engine.findings, misplaced(*file, option.table));
    const auto folders = file->strings(option.table, key);
    if (!folders)
        return;
    if (folders->size() > max_hook_folders)
        throw Error(ErrorKind::BrokenHost, quote(path) + ": hooks_dir names more than " +
                                               std::to_string(max_hook_folders) + " folders");
    engine.folder_paths = *folders;
    engine.folders_from = "hooks_dir of " + quote(path);
    engine.folders_file = path;
}

void stop(Engine &engine, const Error &error, const char *what)
{
    engine.is_stopped = true;
    engine.findings.push_back(
        {Severity::Error, error.what(),
         std::string("mend the ") + what + ": " + engine.name + " starts no container like this"});
}

} // namespace

std::vector<std::string> drop_ins(const Sysroot &sysroot, const std::string &folder,
                                  const std::string &suffix)
{
    const auto place = sysroot.find(folder);
    if (!place)
        return {};
    std::vector<std::string> paths;
    const FolderListing listing{quote(folder), [&](std::string_view name) { return name.ends_with(suffix); },
                                max_drop_ins, ErrorKind::BrokenHost};
    for (const FolderEntry &entry : list_folder(place->fd.get(), listing))
        if (entry.type != DT_DIR)
            paths.push_back(folder + "/" + entry.name);
    return paths;
}

void read_hooks_dir(Engine &engine, const HooksDirOption &option)
{
    engine.folder_paths = option.default_folders;
    engine.folders_from = "its default";
    std::vector<std::string> files = option.files;
    try {
        const std::vector<std::string> more = drop_ins(*engine.sysroot, option.drop_ins, option.suffix);
        files.insert(files.end(), more.begin(), more.end());
    } catch (const Error &error) {
        stop(engine, error, "folder");
    }
    for (const std::string &path : files) {
        try {
            read_file(engine, option, path);
        } catch (const Error &error) {
            stop(engine, error, "file");
        }
    }
}

} // namespace ogh::admin
