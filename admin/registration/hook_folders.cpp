// SPDX-License-Identifier: Apache-2.0
#include "registration/hook_folders.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/error.h"
#include "base/letters.h"
#include "base/path_names.h"
#include "base/text.h"
#include "host/host_file.h"
#include "kernel/folder_entries.h"

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

bool is_folder(const ResolvedPath &place)
{
    struct stat status {};
    return ::fstat(place.fd.get(), &status) == 0 && S_ISDIR(status.st_mode);
}

/** @return nothing for a directory that the engine passes over */
std::optional<HookFile> read_file(const Sysroot &sysroot, const std::string &path, FolderRules rules)
{
    HookFile unreadable;
    unreadable.path = path;
    unreadable.name = file_name_of(path);
    try {
        const auto place = sysroot.find(path);
        if (place && is_folder(*place)) {
            if (rules == FolderRules::EveryFile)
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

HookFolder read_hook_folder(const Sysroot &sysroot, const std::string &path, FolderRules rules)
{
    HookFolder folder{path, false, {}, {}};
    try {
        const auto place = sysroot.find(path);
        if (!place)
            return folder;
        folder.exists = true;
        const auto is_read = [&](std::string_view name) {
            return rules == FolderRules::EveryFile || name.ends_with(".json");
        };
        const FolderListing listing{quote(path), is_read, max_files, ErrorKind::BrokenHost};
        for (const FolderEntry &entry : list_folder(place->fd.get(), listing)) {
            auto file = read_file(sysroot, path + "/" + entry.name, rules);
            if (!file)
                continue;
            file->is_missing = file->is_missing && rules == FolderRules::HooksD;
            folder.files.push_back(std::move(*file));
        }
    } catch (const Error &error) {
        folder.problem = error.what();
    }
    return folder;
}

std::vector<FileInForce> files_in_force(const std::vector<HookFolder> &folders)
{
    std::vector<FileInForce> found;
    for (const HookFolder &folder : folders)
        for (const HookFile &file : folder.files) {
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
