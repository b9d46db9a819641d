// SPDX-License-Identifier: Apache-2.0
#include "install/key_files.h"

#include <algorithm>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "engines/engine.h"
#include "engines/installed_hooks.h"
#include "registration/manifest.h"

namespace ogh::admin {

namespace {

constexpr mode_t key_mode = 0600;
constexpr size_t max_word = 256;

void add_place(std::vector<KeyPlace> &places, const HookFile &file)
{
    const auto path = option_of(file, "--key-file");
    if (file.ours == nullptr || !file.problem.empty() || !path || !path->starts_with('/'))
        return;
    const auto same = std::find_if(places.begin(), places.end(),
                                   [&](const KeyPlace &place) { return place.path == *path; });
    KeyPlace &place = same == places.end() ? places.emplace_back(KeyPlace{*path, {}}) : *same;
    if (const std::string hook(file.ours->name); !contains(place.hooks, hook))
        place.hooks.push_back(hook);
}

/** A word of a line: a blank would end it, and a line break begin a line of somebody's choice. */
const std::string &checked_word(const std::string &word, const std::string &what)
{
    const bool is_plain = std::all_of(word.begin(), word.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    if (word.empty() || word.size() > max_word || !is_plain || word.starts_with('-'))
        throw Error(ErrorKind::Usage,
                    what + " takes up to " + std::to_string(max_word) +
                        " letters, digits and signs, no blank, and does not begin with '-'");
    return word;
}

/** @throws Error as read_key_text() */
std::string text_of(const Sysroot &sysroot, const std::string &path)
{
    std::string text = read_key_text(sysroot, path).value_or("");
    if (!text.empty() && !text.ends_with('\n'))
        text += '\n';
    return text;
}

/** @throws Error (Usage) for a text that no hook would take */
void write(RootFiles &files, const std::string &path, const std::string &text)
{
    try {
        if (text.size() > max_key_file)
            throw Error(ErrorKind::Usage, quote(path) + " would be too long");
        static_cast<void>(KeyFile(text));
    } catch (const Error &error) {
        throw error.as(ErrorKind::Usage);
    }
    files.write(path, text, key_mode);
}

std::string line_for(const NewKey &key, const std::vector<std::string> &hooks, const std::string &secret)
{
    std::string line =
        sha256_of(secret) + " " + checked_word(key.name, "the name of a key") + " --for " + list_text(hooks);
    const bool counts = takes_leases(hooks.front());
    if (key.max_devices && counts)
        line += " --max-devices " + std::to_string(*key.max_devices);
    if (key.allow)
        line += " --allow " + checked_word(*key.allow, "--allow");
    if (key.quota && counts)
        line += " --quota " + std::to_string(*key.quota);
    return line + "\n";
}

std::string lines_for(const NewKey &key, const KeyPlace &place, const std::string &secret)
{
    std::string lines;
    for (const bool leases : {true, false}) {
        std::vector<std::string> hooks;
        for (const std::string &hook : place.hooks)
            if (contains(key.hooks, hook) && takes_leases(hook) == leases)
                hooks.push_back(hook);
        if (!hooks.empty())
            lines += line_for(key, hooks, secret);
    }
    return lines;
}

/** @throws Error (BrokenHost) if a hook is called with no key file */
void check_called(const std::vector<KeyPlace> &places, const std::vector<std::string> &hooks)
{
    for (const std::string &hook : hooks)
        if (std::none_of(places.begin(), places.end(),
                         [&](const auto &place) { return contains(place.hooks, hook); }))
            throw Error(ErrorKind::BrokenHost,
                        std::string("no engine calls ")
                            .append(hook)
                            .append(" with --key-file: oci-gpu-hooks install --engine NAME ")
                            .append(hook)
                            .append(" --opt-in environment --key-file FILE"));
}

} // namespace

std::vector<KeyPlace> key_places(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<KeyPlace> places;
    for (const Engine &engine : find_engines(sysroot))
        for (const FileInForce &each : files_in_force(engine.directories))
            add_place(places, *each.file);
    for (const InstalledFile &file : Manifest::read(*sysroot).files)
        if (const OurHook *const hook = find_hook(file.hook))
            add_place(places, hook_file({hook, file.options, {}}));
    return places;
}

void add_key(const Sysroot &sysroot, RootFiles &files, const std::vector<KeyPlace> &places, const NewKey &key,
             const std::string &secret)
{
    check_called(places, key.hooks);
    for (const KeyPlace &place : places) {
        const KeyFile file(text_of(sysroot, place.path));
        for (const Key &other : file.keys())
            if (other.name == key.name)
                throw Error(ErrorKind::Usage, quote(place.path) + " has a key " + quote(key.name) +
                                                  " already: take another name, or remove that one");
    }
    for (const KeyPlace &place : places) {
        const std::string lines = lines_for(key, place, secret);
        if (!lines.empty())
            write(files, place.path, text_of(sysroot, place.path) + lines);
    }
}

std::vector<std::string> remove_key(const Sysroot &sysroot, RootFiles &files,
                                    const std::vector<KeyPlace> &places, const std::string &name)
{
    std::vector<std::string> changed;
    for (const KeyPlace &place : places) {
        std::string kept;
        const std::string text = text_of(sysroot, place.path);
        for (size_t at = 0, end = 0; at < text.size(); at = end) {
            end = text.find('\n', at) + 1;
            const auto words = key_words(text.substr(at, end - at - 1));
            if (words.size() < 2 || words[1] != name)
                kept += text.substr(at, end - at);
        }
        if (kept == text)
            continue;
        write(files, place.path, kept);
        changed.push_back(place.path);
    }
    if (changed.empty())
        throw Error(ErrorKind::Usage,
                    "there is no key " + quote(name) + "; 'oci-gpu-hooks key list' has those that there are");
    return changed;
}

} // namespace ogh::admin
