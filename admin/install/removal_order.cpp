// SPDX-License-Identifier: Apache-2.0
#include "install/removal_order.h"

#include <algorithm>

#include "base/path_names.h"
#include "base/text.h"
#include "registration/hook_directories.h"

namespace ogh::admin {

bool is_drop_in(const InstalledFile &file)
{
    return file.path.ends_with(".conf");
}

bool is_runtime(const InstalledFile &file)
{
    return file.path.ends_with(".toml");
}

void sort_for_removal(std::vector<InstalledFile> &files)
{
    const auto place = [](const InstalledFile &file) {
        if (is_runtime(file))
            return 0;
        if (directory_of(file.path) == default_hooks_directory)
            return 1;
        return is_drop_in(file) ? 3 : 2;
    };
    std::stable_sort(files.begin(), files.end(), [&](const InstalledFile &one, const InstalledFile &other) {
        return place(one) < place(other);
    });
}

namespace {

/** Files of hooks that are none of those, and stay. */
std::vector<HookFile> others_in(std::string_view directory, const Sysroot &sysroot,
                                const std::vector<InstalledFile> &gone)
{
    std::vector<HookFile> others =
        read_hook_directory(sysroot, std::string(directory), DirectoryRules::HooksD).files;
    std::erase_if(others, [&](const HookFile &file) {
        return std::any_of(gone.begin(), gone.end(),
                           [&](const InstalledFile &other) { return other.path == file.path; });
    });
    return others;
}

} // namespace

std::string why_drop_in_stays(const InstalledFile &file, const Sysroot &sysroot,
                              const std::vector<InstalledFile> &gone)
{
    if (!is_drop_in(file) || file.path == default_annotations_file)
        return "";
    std::vector<std::string> others;
    for (const HookFile &other : others_in(own_hooks_directory, sysroot, gone))
        others.push_back(other.path);
    return others.empty() ? "" : "stays: without it " + quote_list(others) + " would not be in effect";
}

bool are_needed_defaults(const InstalledFile &file, const Sysroot &sysroot,
                         const std::vector<InstalledFile> &gone)
{
    const auto calls_a_hook = [&](std::string_view directory) {
        const std::vector<HookFile> others = others_in(directory, sysroot, gone);
        return std::any_of(others.begin(), others.end(),
                           [](const HookFile &other) { return other.ours != nullptr; });
    };
    return file.path == default_annotations_file &&
           (calls_a_hook(default_hooks_directory) || calls_a_hook(own_hooks_directory));
}

std::string shown(const InstalledFile &file)
{
    return (file.part.empty() ? "" : "the runtime " + quote(file.part) + " from ") + quote(file.path);
}

} // namespace ogh::admin
