// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hook/file_options.h"
#include "host/sysroot.h"
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

/** How an engine chooses among the files of its directories. */
enum class DirectoryRules {
    HooksD, ///< *.json, the later directory's file of a name alone, in the order of the names in small letters
    EveryFile ///< one directory, whatever the names; `when` is ignored: Concourse, worker/runtime/backend.go
};

/** One directory that an engine reads. */
struct HookDirectory {
    std::string path;
    bool exists = false;
    std::string problem;         ///< why it cannot be read, or is not what it should be
    std::vector<HookFile> files; ///< that the engine takes for registrations, by name
};

/** Reads one directory, as the engine would. @param sysroot the engine's files */
HookDirectory read_hook_directory(const Sysroot &sysroot, const std::string &path, DirectoryRules rules);

/** A file that an engine uses, and those that it therefore does not. */
struct FileInEffect {
    const HookFile *file;
    std::vector<const HookFile *> replaced; ///< of the same name, in directories that it reads before
};

/**
 * In the order in which the engine calls them; it refers to the directories. A file whose executable is missing is none
 * of them, and takes no other one's place: readDir in pkg/hooks of containers/common.
 */
std::vector<FileInEffect> files_in_effect(const std::vector<HookDirectory> &directories);

} // namespace ogh::admin
