// SPDX-License-Identifier: Apache-2.0
#include "registration/hook_directories.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/error.h"
#include "base/letters.h"
#include "base/path_names.h"
#include "base/text.h"
#include "host/host_file.h"
#include "kernel/directory_entries.h"

namespace ogh::admin {

namespace {

// A directory has a handful of files of some hundred bytes; each is read several times.
constexpr size_t max_file_size = size_t{1} << 18U;
constexpr size_t max_files = 128;

std::string in_small_letters(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(), to_lower);
    return text;
}

bool is_directory(const ResolvedPath &place)
{
    struct stat status {};
    return ::fstat(place.fd.get(), &status) == 0 && S_ISDIR(status.st_mode);
}

/** @return nothing for a directory that the engine passes over */
std::optional<HookFile> read_file(const Sysroot &sysroot, const std::string &path, DirectoryRules rules)
{
    HookFile unreadable;
    unreadable.path = path;
    unreadable.name = file_name_of(path);
    try {
        const auto place = sysroot.find(path);
        if (place && is_directory(*place)) {
            if (rules == DirectoryRules::EveryFile)
                return std::nullopt;
            throw Error(ErrorKind::BrokenHost, "it is a directory"); // podman goes by the name, and reads it
        }
        const auto text = place ? read_host_file(sysroot, place->path, max_file_size) : std::nullopt;
        if (text) {
            HookFile file = parse_hook_file(path, *text);
            file.is_missing = file.problem.empty() && !sysroot.find(file.executable);
            return file;
        }
        unreadable.problem = "it is a symlink that leads nowhere";
        unreadable.is_missing = true;
    } catch (const Error &error) {
        unreadable.problem = error.what();
    }
    return unreadable;
}

} // namespace

HookDirectory read_hook_directory(const Sysroot &sysroot, const std::string &path, DirectoryRules rules)
{
    HookDirectory directory{path, false, {}, {}};
    try {
        const auto place = sysroot.find(path);
        if (!place)
            return directory;
        directory.exists = true;
        const auto is_read = [&](std::string_view name) {
            return rules == DirectoryRules::EveryFile || name.ends_with(".json");
        };
        const DirectoryListing listing{quote(path), is_read, max_files, ErrorKind::BrokenHost};
        for (const DirectoryEntry &entry : list_directory(place->fd.get(), listing)) {
            auto file = read_file(sysroot, path + "/" + entry.name, rules);
            if (!file)
                continue;
            file->is_missing = file->is_missing && rules == DirectoryRules::HooksD;
            directory.files.push_back(std::move(*file));
        }
    } catch (const Error &error) {
        directory.problem = error.what();
    }
    return directory;
}

std::vector<FileInForce> files_in_force(const std::vector<HookDirectory> &directories)
{
    std::vector<FileInForce> found;
    for (const HookDirectory &directory : directories)
        for (const HookFile &file : directory.files) {
            if (file.is_missing)
                continue;
            const auto same = std::find_if(found.begin(), found.end(), [&](const FileInForce &other) {
                return other.file->name == file.name;
            });
            if (same == found.end()) {
                found.push_back({&file, {}});
                continue;
            }
            same->replaced.push_back(same->file);
            same->file = &file;
        }
    std::stable_sort(found.begin(), found.end(), [](const FileInForce &one, const FileInForce &other) {
        return in_small_letters(one.file->name) < in_small_letters(other.file->name);
    });
    return found;
}

} // namespace ogh::admin
