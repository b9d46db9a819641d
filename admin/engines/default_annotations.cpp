// SPDX-License-Identifier: Apache-2.0
#include "engines/default_annotations.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "engines/engine.h"
#include "engines/podman.h"
#include "engines/programs.h"
#include "engines/toml_file.h"
#include "registration/hooks.h"
#include "registration/version_number.h"

namespace ogh::admin {

namespace {

constexpr std::chrono::seconds version_limit{10};
constexpr VersionNumber first_without{4, 6};

std::optional<VersionNumber> podman_version(const Sysroot &sysroot)
{
    constexpr std::string_view before = "podman version ";
    const auto path = is_this_host(sysroot) ? find_program(sysroot, "podman") : std::nullopt;
    try {
        const auto program = path ? open_program(*path) : std::nullopt;
        if (!program)
            return std::nullopt;
        const std::string line = last_line(run_program(*program, {"podman", "--version"}, version_limit).out);
        return line.starts_with(before) ? parse_version(line.substr(before.size())) : std::nullopt;
    } catch (const Error &) {
        return std::nullopt; // it is taken for one that needs defaults
    }
}

} // namespace

std::vector<DefaultAnnotations> read_default_annotations(const Sysroot &sysroot)
{
    std::vector<DefaultAnnotations> lists;
    for (const std::string &path : podman_configuration(sysroot))
        if (const auto file = TomlFile::read(sysroot, path))
            if (auto entries = file->strings("containers", "annotations"))
                lists.push_back({path, std::move(*entries)});
    return lists;
}

std::vector<std::string> keys_without_default(const std::vector<std::string> &entries)
{
    std::vector<std::string> keys;
    for (const std::string_view key : annotation_keys()) {
        std::string whole = std::string(annotation_prefix) + std::string(key);
        const bool has_default = std::any_of(entries.begin(), entries.end(), [&](const std::string &entry) {
            return entry.substr(0, entry.find('=')) == whole;
        });
        if (!has_default)
            keys.push_back(std::move(whole));
    }
    return keys;
}

std::optional<bool> takes_image_annotations(const Sysroot &sysroot)
{
    const auto version = podman_version(sysroot);
    return version ? std::optional(*version < first_without) : std::nullopt;
}

} // namespace ogh::admin
