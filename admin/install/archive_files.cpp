// SPDX-License-Identifier: Apache-2.0
#include "install/archive_files.h"

#include <algorithm>
#include <array>

#include "base/path_names.h"
#include "base/text.h"
#include "registration/hooks.h"

namespace ogh::admin {

namespace {

// Nobody else has files in these.
constexpr std::array<std::string_view, 2> own_folders = {"/usr/local/share/oci-gpu-hooks/",
                                                         "/usr/local/share/doc/oci-gpu-hooks/"};
constexpr std::array<std::string_view, 7> single_files = {
    "/usr/local/bin/oci-gpu-hooks",
    "/usr/local/libexec/oci/hooks.d/nvidia-devices-nvml",
    "/usr/local/share/bash-completion/completions/oci-gpu-hooks",
    "/usr/local/share/zsh/site-functions/_oci-gpu-hooks",
    "/usr/local/share/fish/vendor_completions.d/oci-gpu-hooks.fish",
    "/usr/local/share/man/man1/oci-gpu-hooks.1",
    "/usr/local/share/man/man7/oci-gpu-hooks.7",
};

bool is_clean(std::string_view path)
{
    if (!path.starts_with('/') || path.find_first_of(std::string_view("\n\0", 2)) != std::string_view::npos)
        return false;
    const std::vector<std::string> names = split_list(path.substr(1), '/');
    return std::none_of(names.begin(), names.end(),
                        [](const std::string &name) { return name.empty() || name == "." || name == ".."; });
}

bool is_of_hook(std::string_view path, const OurHook &hook)
{
    const std::string name(hook.name);
    return path == "/usr/local/libexec/oci/hooks.d/" + name ||
           path == "/usr/local/share/man/man8/" + name + ".8" || file_name_of(std::string(path)) == hook.file;
}

} // namespace

bool is_archive_name(std::string_view path)
{
    if (!is_clean(path))
        return false;
    const auto hooks = our_hooks();
    return std::any_of(own_folders.begin(), own_folders.end(),
                       [&](std::string_view folder) { return path.starts_with(folder); }) ||
           std::find(single_files.begin(), single_files.end(), path) != single_files.end() ||
           std::any_of(hooks.begin(), hooks.end(),
                       [&](const OurHook &hook) { return is_of_hook(path, hook); });
}

ArchiveList ArchiveList::parse(const std::string &text)
{
    ArchiveList list;
    for (const std::string &line : split_list(text, '\n')) {
        const size_t blank = line.find(' ');
        const std::string path = blank == std::string::npos ? "" : line.substr(blank + 1);
        if (is_archive_name(path))
            list.files.push_back({line.substr(0, blank), path});
        else if (!line.empty())
            list.others.push_back(line);
    }
    return list;
}

std::string ArchiveList::to_text() const
{
    std::string text;
    for (const ArchiveFile &file : files)
        text += file.hash + " " + file.path + "\n";
    return text;
}

const ArchiveFile *ArchiveList::find(std::string_view path) const
{
    const auto found =
        std::find_if(files.begin(), files.end(), [&](const ArchiveFile &file) { return file.path == path; });
    return found == files.end() ? nullptr : &*found;
}

void sort_for_removal(std::vector<ArchiveFile> &files)
{
    std::stable_partition(files.begin(), files.end(),
                          [](const ArchiveFile &file) { return file.path.ends_with(".json"); });
}

} // namespace ogh::admin
