// SPDX-License-Identifier: Apache-2.0
#include "registration/hook_file.h"

#include <dirent.h>
#include <re2/re2.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/error.h"
#include "base/json.h"
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

using nlohmann::json;

// oci-hooks(5); precreate is podman's own.
constexpr std::array<std::string_view, 7> known_stages = {
    "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop", "precreate"};

constexpr std::string_view version_read = "1.0.0";

// Files have a few words, and one or two short patterns. More is nothing that anybody has written, and takes time: a
// thousand classes of Unicode take 50 ms.
constexpr size_t max_words = 1024;
constexpr size_t max_words_bytes = 65536; // half of what Linux takes for one argument
constexpr size_t max_patterns_bytes = 4096;
constexpr std::int64_t max_pattern_memory = std::int64_t{1} << 20U;

Error too_large(const char *what, const std::string &name, size_t limit, const char *unit)
{
    return {ErrorKind::BrokenHost,
            std::string(what) + ": '" + name + "' has more than " + std::to_string(limit) + " " + unit};
}

std::vector<std::string> strings(const json *list, const std::string &name, const char *what)
{
    std::vector<std::string> found;
    if (list == nullptr)
        return found;
    if (!list->is_array())
        throw Error(ErrorKind::BrokenHost, std::string(what) + ": '" + name + "' is no list");
    if (list->size() > max_words)
        throw too_large(what, name, max_words, "words");
    size_t bytes = 0;
    for (const json &each : *list) {
        found.push_back(checked_string(each, name, what));
        bytes += found.back().size();
    }
    if (bytes > max_words_bytes)
        throw too_large(what, name, max_words_bytes, "bytes");
    return found;
}

std::optional<bool> flag(const json &object, const char *name, const char *what)
{
    const json *const value = find_member(object, name);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_boolean())
        throw Error(ErrorKind::BrokenHost, std::string(what) + ": '" + name + "' is neither true nor false");
    return value->get<bool>();
}

const json &object_member(const json &object, const char *name, const char *what)
{
    const json *const value = find_member(object, name);
    if (value == nullptr || !value->is_object())
        throw Error(ErrorKind::BrokenHost,
                    std::string(what) + ": '" + name + "' is missing, or is no object");
    return *value;
}

/** As Go's regexp reads it, by which podman and CRI-O go: the same syntax, and linear in time. */
RE2 compiled(const std::string &pattern)
{
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(max_pattern_memory);
    return {pattern, options};
}

bool matches(const std::string &text, const std::string &pattern)
{
    return RE2::PartialMatch(text, compiled(pattern));
}

void check_patterns(const When &when)
{
    std::vector<std::string> patterns = when.commands;
    for (const auto &[key, value] : when.annotations)
        patterns.insert(patterns.end(), {key, value});
    size_t bytes = 0;
    for (const std::string &pattern : patterns)
        bytes += pattern.size() + 1;
    if (bytes > max_patterns_bytes)
        throw Error(ErrorKind::BrokenHost,
                    "'when' has patterns of more than " + std::to_string(max_patterns_bytes) + " bytes");
    for (const std::string &pattern : patterns) {
        const RE2 read = compiled(pattern);
        if (!read.ok())
            throw Error(ErrorKind::BrokenHost,
                        "in 'when': " + quote(pattern) + " is " +
                            (read.error_code() == RE2::ErrorPatternTooLarge ? "too large a regular expression"
                                                                            : "no regular expression"));
    }
}

When read_when(const json &document)
{
    const json &object = object_member(document, "when", "the file");
    When when{flag(object, "always", "'when'"),
              flag(object, "hasBindMounts", "'when'"),
              {},
              strings(find_member(object, "commands"), "commands", "'when'")};
    if (const json *const annotations = find_member(object, "annotations")) {
        if (!annotations->is_object())
            throw Error(ErrorKind::BrokenHost, "'when': 'annotations' is no object");
        for (const auto &[key, value] : annotations->items())
            when.annotations.emplace(key, checked_string(value, key, "'when'"));
    }
    check_patterns(when);
    return when;
}

void read_hook(const json &hook, HookFile &file)
{
    file.executable = string_member(hook, "path", "'hook'");
    if (!file.executable.starts_with('/'))
        throw Error(ErrorKind::BrokenHost, "'hook': the path is not absolute: " + quote(file.executable));
    file.args = strings(find_member(hook, "args"), "args", "'hook'");
    file.environment = strings(find_member(hook, "env"), "env", "'hook'");
    file.has_environment = !file.environment.empty();
    if (const json *const timeout = find_member(hook, "timeout")) {
        if (!timeout->is_number_integer())
            throw Error(ErrorKind::BrokenHost, "'hook': 'timeout' is no whole number of seconds");
        file.timeout_s = timeout->get<std::int64_t>();
    }
}

void read_document(std::string_view text, HookFile &file)
{
    // The reader used here passes over it, and Go's, which engines have, does not.
    if (text.starts_with("\xef\xbb\xbf"))
        throw Error(ErrorKind::BrokenHost, "it begins with a byte order mark");
    const json document = parse_object(text, "the file");
    const std::string version = string_member(document, "version", "the file");
    if (version != version_read)
        throw Error(ErrorKind::BrokenHost, "the version is " + quote(version) + " and not '1.0.0'");
    read_hook(object_member(document, "hook", "the file"), file);
    file.when = read_when(document);
    file.stages = strings(find_member(document, "stages"), "stages", "the file");
    for (const std::string &stage : file.stages)
        if (!contains(known_stages, stage))
            throw Error(ErrorKind::BrokenHost, "there is no stage " + quote(stage));
    if (file.stages.empty())
        throw Error(ErrorKind::BrokenHost, "'stages' names no stage");
}

/** By the executable, or by what it is to be called, as with a link of another name. */
const OurHook *which_of_ours(const HookFile &file)
{
    if (const OurHook *const hook = find_hook(file_name_of(file.executable)))
        return hook;
    return file.args.empty() ? nullptr : find_hook(file_name_of(file.args.front()));
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

std::vector<FileInEffect> files_in_effect(const std::vector<HookDirectory> &directories)
{
    std::vector<FileInEffect> found;
    for (const HookDirectory &directory : directories)
        for (const HookFile &file : directory.files) {
            if (file.is_missing)
                continue;
            const auto same = std::find_if(found.begin(), found.end(), [&](const FileInEffect &other) {
                return other.file->name == file.name;
            });
            if (same == found.end()) {
                found.push_back({&file, {}});
                continue;
            }
            same->replaced.push_back(same->file);
            same->file = &file;
        }
    std::stable_sort(found.begin(), found.end(), [](const FileInEffect &one, const FileInEffect &other) {
        return in_small_letters(one.file->name) < in_small_letters(other.file->name);
    });
    return found;
}

HookFile parse_hook_file(const std::string &path, std::string_view text)
{
    HookFile file;
    file.path = path;
    file.name = file_name_of(path);
    try {
        read_document(text, file);
    } catch (const Error &error) {
        file.problem = error.what();
    }
    file.ours = which_of_ours(file);
    return file;
}

std::vector<HookFile> parse_base_spec(const std::string &path, std::string_view text)
{
    const char *const what = "the spec";
    std::vector<HookFile> files;
    const json document = parse_object(text, what);
    const json *const hooks = find_member(document, "hooks");
    if (hooks == nullptr)
        return files;
    if (!hooks->is_object())
        throw Error(ErrorKind::BrokenHost, "the spec: 'hooks' is no object");
    for (const auto &[stage, entries] : hooks->items())
        for (const json &entry : entries) {
            if (!entries.is_array() || !entry.is_object())
                throw Error(ErrorKind::BrokenHost, "the spec: " + quote(stage) + " is no list of hooks");
            HookFile file;
            file.path = path;
            file.name = stage + "-" + std::to_string(max_words + files.size()); // each has one, in this order
            file.when.always = true;
            file.stages = {stage};
            read_hook(entry, file);
            file.ours = which_of_ours(file);
            files.push_back(std::move(file));
        }
    return files;
}

bool is_called_for(const HookFile &file, const std::string &key, const std::string &value)
{
    const When &when = file.when;
    if (!when.always.value_or(true) || when.has_bind_mounts || !when.commands.empty())
        return false;
    for (const auto &[wanted_key, wanted_value] : when.annotations)
        if (!matches(key, wanted_key) || !matches(value, wanted_value))
            return false;
    return when.always || !when.annotations.empty(); // without any condition it is never called
}

FileOptions options_of(const HookFile &file)
{
    return sort_options({file.args.begin() + (file.args.empty() ? 0 : 1), file.args.end()});
}

std::optional<std::string> option_of(const HookFile &file, std::string_view name)
{
    std::optional<std::string> value;
    for (size_t i = 1; i < file.args.size(); ++i) {
        const std::string_view word = file.args[i];
        if (word == name && i + 1 < file.args.size())
            value = file.args[++i];
        else if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=')
            value = word.substr(name.size() + 1);
    }
    return value;
}

} // namespace ogh::admin
