// SPDX-License-Identifier: Apache-2.0
#include "install/removal_order.h"

#include <algorithm>

#include "base/path_names.h"
#include "base/text.h"
#include "registration/hook_folders.h"

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
        if (folder_of(file.path) == default_hooks_folder)
            return 1;
        return is_drop_in(file) ? 3 : 2;
    };
    std::stable_sort(files.begin(), files.end(), [&](const InstalledFile &one, const InstalledFile &other) {
        return place(one) < place(other);
    });
}

std::vector<std::string> others_in_own_folder(const Sysroot &sysroot, const std::vector<InstalledFile> &gone)
{
    std::vector<std::string> others;
    for (const HookFile &file :
         read_hook_folder(sysroot, std::string(own_hooks_folder), FolderRules::HooksD).files)
        if (std::none_of(gone.begin(), gone.end(),
                         [&](const InstalledFile &other) { return other.path == file.path; }))
            others.push_back(file.path);
    return others;
}

std::string why_drop_in_stays(const InstalledFile &file, const Sysroot &sysroot,
                              const std::vector<InstalledFile> &gone)
{
    if (!is_drop_in(file) || file.path == default_annotations_file)
        return "";
    const auto others = others_in_own_folder(sysroot, gone);
    return others.empty() ? "" : "stays: without it " + quote_list(others) + " would not be in effect";
}

std::string shown(const InstalledFile &file)
{
    return (file.part.empty() ? "" : "the runtime " + quote(file.part) + " from ") + quote(file.path);
}

} // namespace ogh::admin
