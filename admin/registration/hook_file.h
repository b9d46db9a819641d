// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hook/file_options.h"
#include "registration/hooks.h"

namespace ogh::admin {

/** The conditions under which an engine calls a hook; all that are set have to be met. */
struct When {
    std::optional<bool> always;
    std::optional<bool> has_bind_mounts;
    std::map<std::string, std::string>
        annotations;                   ///< regular expressions, unanchored, of a key and its value
    std::vector<std::string> commands; ///< the same, of the container's program
};

/**
 * A file that registers a hook: schema 1.0.0 of hooks.d, oci-hooks(5) of containers/common. Where `problem` says that
 * an engine cannot read it, the rest is as far as it was read.
 */
struct HookFile {
    std::string path; ///< as the engine names it
    std::string name; ///< the last component
    std::string problem;

    std::string executable;
    bool is_missing =
        false; ///< there is no such executable, or the file is a symlink that leads nowhere: engines
               ///< with directories of hooks.d leave it out
    std::vector<std::string> args;        ///< the whole command line, the hook's name first
    bool has_environment = false;         ///< one of its own
    std::vector<std::string> environment; ///< NAME=VALUE
    std::optional<std::int64_t> timeout_s;
    When when;
    std::vector<std::string> stages;

    const OurHook *ours = nullptr; ///< which of this collection it calls; nullptr if it is another one
};

/** @param path as the engine names it */
HookFile parse_hook_file(const std::string &path, std::string_view text);

/**
 * The hooks in a spec that containers start from, as if each had a file of its own that is for every container.
 * @param path of the spec
 * @throws Error (BrokenHost) if it is no JSON, or `hooks` is none of config.json's
 */
std::vector<HookFile> parse_base_spec(const std::string &path, std::string_view text);

/** Whether the engine calls the hook for a container with this annotation and without volumes. */
bool is_called_for(const HookFile &file, const std::string &key, const std::string &value);

/** Its options, sorted by what may be done with them. */
FileOptions options_of(const HookFile &file);

/** The value of the last `--NAME VALUE` or `--NAME=VALUE` of the args. */
std::optional<std::string> option_of(const HookFile &file, std::string_view name);

} // namespace ogh::admin
