// SPDX-License-Identifier: Apache-2.0
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/error.h"
#include "base/table.h"
#include "base/text.h"
#include "commands/command.h"
#include "install/key_files.h"
#include "registration/manifest.h"

namespace ogh::admin {

namespace {

using Places = std::vector<KeyPlace>;

/** 256 bits, in hexadecimal digits. @throws SystemError */
std::string random_key()
{
    std::array<char, 32> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw SystemError(errno, "cannot make a key");
    return sha256_of({bytes.data(), bytes.size()});
}

/** "--max-devices 1 --allow 0,1" */
std::string limits_of(const KeyLimits &limits)
{
    std::string text;
    const auto add = [&](const char *option, const std::string &value) {
        text += (text.empty() ? "" : " ") + std::string(option) + " " + value;
    };
    if (limits.max_devices)
        add("--max-devices", std::to_string(*limits.max_devices));
    if (limits.allow)
        add("--allow", *limits.allow);
    if (limits.quota)
        add("--quota", std::to_string(limits.quota->most));
    if (limits.allow_capabilities)
        add("--allow-capabilities", *limits.allow_capabilities);
    return text;
}

/** Without their hashes. */
void print_keys(const Sysroot &sysroot, const Places &places)
{
    Table table{{"NAME", "HOOKS", "LIMITS", "FILE"}};
    for (const KeyPlace &place : places) {
        const KeyFile file(read_key_text(sysroot, place.path).value_or(""));
        for (const Key &each : file.keys()) {
            table.push_back({each.name, list_text(each.hooks), limits_of(each.limits), place.path});
        }
    }
    print(ogh::to_text(table));
}

/** The lines are there before the key is seen, and go again if it cannot be. */
void make_key(const Sysroot &sysroot, const Places &places, const NewKey &key)
{
    const std::string secret = random_key();
    RootFiles files = RootFiles::of_host(sysroot);
    files.lock(true);
    add_key(sysroot, files, places, key, secret);
    print(secret + "\n");
    files.keep();
}

void take_away(const Sysroot &sysroot, const Places &places, const std::string &name)
{
    RootFiles files = RootFiles::of_host(sysroot);
    files.lock(true);
    const auto changed = remove_key(sysroot, files, places, name);
    files.keep();
    print("removed " + quote(name) + " from " + quote_list(changed) + "\n");
}

/** @throws Error (Usage) */
void check(const std::vector<std::string> &words, const NewKey &key)
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
    if (word != "new" && (!key.hooks.empty() || key.allow || key.max_devices || key.quota))
        throw Error(ErrorKind::Usage, "options of a key are for 'key new'");
    for (const std::string &hook : key.hooks)
        static_cast<void>(named_hook(hook));
    if (key.allow && key.hooks.size() != 1)
        throw Error(ErrorKind::Usage,
                    "--allow has the words of one hook: give the others a line of their own in the key file");
}

} // namespace

int key(int argc, const char *const *argv)
{
    CommandOptions options;
    NewKey wanted;
    std::vector<std::string> words;
    CommandLine cli("oci-gpu-hooks key",
                    "Keys with which a container may ask by its environment: 'new NAME' makes one and prints "
                    "it, 'list' names those that there are, 'remove NAME' takes one away.",
                    page);
    cli.add({"--hook", "HOOK...", "Which hooks may be asked with it"}, wanted.hooks);
    cli.add({"--allow", "LIST", "The only devices or directories, of one hook (default: as the hook allows)"},
            wanted.allow);
    cli.add({"--max-devices", "N", "How many devices one container may have (default: as the hook allows)"},
            wanted.max_devices);
    cli.add({"--quota", "N", "How many devices all that ask with it may have at once (default: no limit)"},
            wanted.quota);
    cli.add_words("new NAME | list | remove NAME", "What is to be done", words);
    if (!parse(cli, options, argc, argv))
        return EXIT_SUCCESS;
    if (!wanted.hooks.empty() && words.size() > 2) { // what follows the first one after --hook
        wanted.hooks.insert(wanted.hooks.end(), words.begin() + 2, words.end());
        words.resize(2);
    }
    check(words, wanted);
    const auto sysroot = options.open();
    const Places places = key_places(sysroot);
    if (words.front() == "list") {
        print_keys(*sysroot, places);
    } else if (words.front() == "remove") {
        take_away(*sysroot, places, words[1]);
    } else {
        wanted.name = words[1];
        make_key(*sysroot, places, wanted);
    }
    return EXIT_SUCCESS;
}

} // namespace ogh::admin
