// SPDX-License-Identifier: Apache-2.0
#include "install/archive_list.h"

#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/path_names.h"
#include "base/text.h"
#include "registration/hooks.h"

namespace ogh::admin {

namespace {

constexpr std::string_view directory_mark = "directory";

// Nobody else has files in these.
constexpr std::array<std::string_view, 2> own_directories = {"/usr/local/share/oci-gpu-hooks/",
                                                             "/usr/local/share/doc/oci-gpu-hooks/"};
constexpr std::array<std::string_view, 11> single_files = {
    "/usr/local/bin/oci-gpu-hooks",
    "/usr/local/lib/systemd/system/oci-gpu-hooks-check.service",
    "/usr/local/lib/systemd/system/oci-gpu-hooks-check.timer",
    "/usr/local/lib/udev/rules.d/90-oci-gpu-hooks-check.rules",
    "/usr/local/libexec/oci/hooks.d/nvidia-devices-nvml",
    "/usr/local/share/bash-completion/completions/oci-gpu-hooks",
    "/usr/local/share/zsh/site-functions/_oci-gpu-hooks",
    "/usr/local/share/fish/vendor_completions.d/oci-gpu-hooks.fish",
    "/usr/local/share/man/man1/oci-gpu-hooks.1",
    "/usr/local/share/man/man7/oci-gpu-hooks.7",
    "/usr/local/share/man/man7/oci-gpu-hooks-leases.7",
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
    return std::any_of(own_directories.begin(), own_directories.end(),
                       [&](std::string_view directory) { return path.starts_with(directory); }) ||
           contains(single_files, path) || std::any_of(hooks.begin(), hooks.end(), [&](const OurHook &hook) {
               return is_of_hook(path, hook);
           });
}

ArchiveList::ArchiveList(const std::string &text)
{
    std::vector<std::string> made;
    for (const std::string &line : split_list(text, '\n')) {
        const size_t blank = line.find(' ');
        const std::string name = blank == std::string::npos ? "" : line.substr(blank + 1);
        if (line.starts_with(std::string(directory_mark) + " ") && is_clean(name))
            made.push_back(name);
        else if (is_archive_name(name))
            files.push_back({name, line.substr(0, blank), {}, "", {}});
        else if (!line.empty())
            others.push_back(line);
    }
    for (std::string &directory : made) {
        const bool has_files = std::any_of(files.begin(), files.end(), [&](const InstalledFile &file) {
            return file.path.starts_with(directory + "/");
        });
        (has_files ? directories : others).push_back(std::move(directory));
    }
}

std::string ArchiveList::lines() const
{
    std::string text;
    for (const InstalledFile &file : files)
        text += file.hash + " " + file.path + "\n";
    for (const std::string &directory : directories)
        text += std::string(directory_mark) + " " + directory + "\n";
    return text;
}

void ArchiveList::sort_for_removal()
{
    std::stable_partition(files.begin(), files.end(),
                          [](const InstalledFile &file) { return file.path.ends_with(".json"); });
}

} // namespace ogh::admin
