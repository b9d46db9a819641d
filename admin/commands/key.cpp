// SPDX-License-Identifier: Apache-2.0
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/contains.h"
#include "base/error.h"
#include "base/sha256.h"
#include "base/table.h"
#include "base/text.h"
#include "commands/command.h"
#include "engines/engine.h"
#include "engines/installed_hooks.h"
#include "host/sysroot.h"
#include "install/root_files.h"
#include "registration/hooks.h"
#include "registration/manifest.h"
#include "request/key_file.h"

namespace ogh::admin {

namespace {

/** A key file, and the hooks that are called with it. */
struct KeyPlace {
    std::string path; ///< absolute
    std::vector<std::string> hooks;
};

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

/** " --max-devices 1 --allow 0,1" */
std::string limits_of(const KeyLimits &limits)
{
    std::string text;
    const auto add = [&](const char *option, const std::string &value) {
        text += std::string(" ") + option + " " + value;
    };
    if (limits.max_devices)
        add("--max-devices", std::to_string(*limits.max_devices));
    if (limits.allow)
        add("--allow", *limits.allow);
    if (limits.quota)
        add("--quota", std::to_string(*limits.quota));
    if (limits.allow_capabilities)
        add("--allow-capabilities", *limits.allow_capabilities);
    return text;
}

std::string line_for(const Key &key, const std::vector<std::string> &hooks, const std::string &secret)
{
    KeyLimits limits = key.limits;
    if (limits.allow)
        checked_word(*limits.allow, "--allow");
    if (!takes_leases(hooks.front()))
        limits.max_devices = limits.quota = std::nullopt;
    return sha256_of(secret) + " " + checked_word(key.name, "the name of a key") + " --for " +
           list_text(hooks) + limits_of(limits) + "\n";
}

std::string lines_for(const Key &key, const KeyPlace &place, const std::string &secret)
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

/**
 * The key files that the options of hooks name: of the files by which engines of this host call them, and of those that
 * `install` has written for engines that do not run.
 */
std::vector<KeyPlace> key_places(const std::shared_ptr<const Sysroot> &sysroot)
{
    std::vector<KeyPlace> places;
    for (const Engine &engine : find_engines(sysroot))
        for (const FileInEffect &each : files_in_effect(engine.directories))
            add_place(places, *each.file);
    for (const InstalledFile &file : Manifest::read(*sysroot).files)
        if (const OurHook *const hook = find_hook(file.hook))
            add_place(places, hook_file({hook, file.options, {}}));
    return places;
}

/** 256 bits, in hexadecimal digits. @throws SystemError */
std::string random_key()
{
    std::array<char, 32> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw SystemError(errno, "cannot make a key");
    return sha256_of({bytes.data(), bytes.size()});
}

/** Without their hashes. */
void print_keys(const Sysroot &sysroot, const std::vector<KeyPlace> &places)
{
    Table table{{"NAME", "HOOKS", "LIMITS", "FILE"}};
    for (const KeyPlace &place : places) {
        const KeyFile file(read_key_text(sysroot, place.path).value_or(""));
        for (const Key &each : file.keys())
            table.push_back(
                {each.name, list_text(each.hooks), std::string(trimmed(limits_of(each.limits))), place.path});
    }
    print(ogh::to_text(table));
}

/**
 * Adds the lines of a key to the file of each of its hooks. Those that take no leases have a line of their own, without the
 * limits to devices. The lines are there before the key is seen, and go again if it cannot be.
 * @throws Error (Usage) if one of the files has that name already, or a value cannot be in a line; (BrokenHost) if a hook
 *         is called with no key file, or as read_key_file()
 */
void make_key(const Sysroot &sysroot, const std::vector<KeyPlace> &places, const Key &key)
{
    const std::string secret = random_key();
    RootFiles files = RootFiles::of_host(sysroot);
    files.lock(true);
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
    print(secret + "\n");
    files.keep();
}

/** Takes all lines of that name away. @throws Error (Usage) if no file has one */
void remove_key(const Sysroot &sysroot, const std::vector<KeyPlace> &places, const std::string &name)
{
    RootFiles files = RootFiles::of_host(sysroot);
    files.lock(true);
    std::vector<std::string> changed;
    for (const KeyPlace &place : places) {
        std::string kept;
        const std::string text = text_of(sysroot, place.path);
        for (std::string_view rest = text; !rest.empty();) {
            const std::string line(next_part(rest, '\n'));
            const auto words = key_words(line);
            if (words.size() < 2 || words[1] != name)
                kept += line + "\n";
        }
        if (kept == text)
            continue;
        write(files, place.path, kept);
        changed.push_back(place.path);
    }
    if (changed.empty())
        throw Error(ErrorKind::Usage,
                    "there is no key " + quote(name) + "; 'oci-gpu-hooks key list' has those that there are");
    files.keep();
    print("removed " + quote(name) + " from " + quote_list(changed) + "\n");
}

/** @throws Error (Usage) */
void check(const std::vector<std::string> &words, const Key &key)
{
    const std::string word = words.empty() ? "" : words.front();
    if (word != "new" && word != "list" && word != "remove")
        throw Error(ErrorKind::Usage, "key takes 'new NAME', 'list' or 'remove NAME'; see --help");
    if (words.size() != (word == "list" ? 1 : 2))
        throw Error(ErrorKind::Usage,
                    "'key " + word + "' takes " + (word == "list" ? "no" : "one") + " name");
    if (word == "new" && key.hooks.empty())
        throw Error(ErrorKind::Usage, "which hooks may be asked with the key? --hook names each: whoever has "
                                      "the key, and the image of its step, may ask these");
    if (word != "new" &&
        (!key.hooks.empty() || key.limits.allow || key.limits.max_devices || key.limits.quota))
        throw Error(ErrorKind::Usage, "options of a key are for 'key new'");
    for (const std::string &hook : key.hooks)
        static_cast<void>(named_hook(hook));
    if (key.limits.allow && key.hooks.size() != 1)
        throw Error(ErrorKind::Usage,
                    "--allow has the words of one hook: give the others a line of their own in the key file");
}

} // namespace

int key(CommandLine &cli, Invocation &call)
{
    Key wanted{{}, "", {}, {}};
    std::vector<std::string> words;
    cli.add({"--hook", "HOOK...", "Which hooks may be asked with it"}, wanted.hooks);
    cli.add({"--allow", "LIST", "The only devices or directories, of one hook (default: as the hook allows)"},
            wanted.limits.allow);
    cli.add({"--max-devices", "N", "How many devices one container may have (default: as the hook allows)"},
            wanted.limits.max_devices);
    cli.add({"--quota", "N", "How many devices all that ask with it may have at once (default: no limit)"},
            wanted.limits.quota);
    cli.add_words("new NAME | list | remove NAME",
                  "Makes one and prints it; names those that there are; takes one away", words);
    if (!call.parse())
        return EXIT_SUCCESS;
    if (!wanted.hooks.empty() && words.size() > 2) { // what follows the first one after --hook
        wanted.hooks.insert(wanted.hooks.end(), words.begin() + 2, words.end());
        words.resize(2);
    }
    check(words, wanted);
    const auto sysroot = call.open();
    const std::vector<KeyPlace> places = key_places(sysroot);
    if (words.front() == "list") {
        print_keys(*sysroot, places);
    } else if (words.front() == "remove") {
        remove_key(*sysroot, places, words[1]);
    } else {
        wanted.name = words[1];
        make_key(*sysroot, places, wanted);
    }
    return EXIT_SUCCESS;
}

} // namespace ogh::admin
