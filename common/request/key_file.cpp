// SPDX-License-Identifier: Apache-2.0
#include "request/key_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/contains.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/sha256.h"
#include "base/text.h"
#include "build_config.h"
#include "host/trusted_path.h"
#include "kernel/proc_fs.h"

namespace ogh {

namespace {

constexpr unsigned most_devices = 1U << 20U;

/** The hooks that take leases, which a quota counts. */
constexpr auto leasing_hooks = std::to_array<std::string_view>({"amd-kfd", "cdi-devices", "nvidia-devices"});

constexpr auto hook_names = std::to_array<std::string_view>({OGH_HOOK_NAMES});

bool is_hash(std::string_view word)
{
    constexpr size_t digits = 64;
    return word.size() == digits && word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/** @return why the words behind the name are wrong; "" if they are not */
std::string read_options(const std::vector<std::string> &words, Key &key)
{
    KeyLimits &limits = key.limits;
    for (size_t i = 2; i < words.size(); i += 2) {
        if (i + 1 == words.size())
            return "an option lacks its value";
        const std::string &value = words[i + 1];
        if (words[i] == "--allow")
            limits.allow = value;
        else if (words[i] == "--max-devices")
            limits.max_devices = parse_small_number(value, most_devices);
        else if (words[i] == "--quota")
            limits.quota = parse_small_number(value, most_devices).value_or(0);
        else if (words[i] == "--allow-capabilities")
            limits.allow_capabilities = value;
        else if (words[i] == "--for")
            key.hooks = split_list(value);
        else
            return "it takes --for HOOK,..., --allow LIST, --max-devices N, --quota N and "
                   "--allow-capabilities "
                   "LIST behind the name";
        if (words[i] == "--max-devices" && !limits.max_devices)
            return "--max-devices needs a number";
        if (limits.quota == 0U)
            return "--quota needs a number from 1 on";
    }
    if (!std::all_of(key.hooks.begin(), key.hooks.end(),
                     [](const std::string &name) { return contains(hook_names, name); }))
        return "--for needs names of hooks, of " + quote_list({hook_names.begin(), hook_names.end()});
    if (limits.quota && !std::all_of(key.hooks.begin(), key.hooks.end(), takes_leases))
        return "--quota counts leases, which these hooks take and no others: " +
               quote_list({leasing_hooks.begin(), leasing_hooks.end()}) + "; have a line each";
    return "";
}

/**
 * Whoever may write a directory on the way can put there another file of root's, and whoever may make a name in one (/tmp) a
 * symlink to it.
 */
std::optional<ResolvedPath> find_key_file(const Sysroot &sysroot, const std::string &path,
                                          const std::string &what)
{
    std::optional<ResolvedPath> place;
    try {
        place = find_trusted(sysroot, path, ::geteuid());
    } catch (const Error &error) {
        throw error.as(ErrorKind::BrokenHost, what + " is not used");
    }
    if (place && place->path != path)
        throw Error(ErrorKind::BrokenHost,
                    what + " has to be named without a symlink: " + quote(place->path));
    return place;
}

/** Nothing of a line is repeated: somebody may have written the key itself there. */
Error wrong_line(size_t number, const std::string &why)
{
    return {ErrorKind::BrokenHost, "line " + std::to_string(number) + " of the key file is wrong: " + why};
}

} // namespace

bool takes_leases(std::string_view hook)
{
    return contains(leasing_hooks, hook);
}

bool Key::serves(std::string_view hook) const
{
    return contains(hooks, hook);
}

KeyFile::KeyFile(std::string_view text)
{
    size_t number = 0;
    for (const std::string &line : split_list(text, '\n')) {
        ++number;
        const auto words = key_words(line);
        if (words.empty())
            continue;
        if (!is_hash(words[0]) || words.size() < 2)
            throw wrong_line(number, "it takes 64 hex digits (0 to f) of a SHA-256, and a name");
        Key key;
        key.hash = words[0];
        key.name = words[1];
        const std::string why = read_options(words, key);
        if (!why.empty())
            throw wrong_line(number, why);
        keys_.push_back(std::move(key));
    }
}

const Key *KeyFile::find(std::string_view key, std::string_view hook) const
{
    const std::string hash = sha256_of(key);
    const Key *found = nullptr;
    for (const Key &each : keys_) {
        if (is_same_hash(hash, each.hash) && (found == nullptr || each.serves(hook)))
            found = &each;
    }
    return found;
}

std::optional<std::string> read_key_text(const Sysroot &sysroot, const std::string &path)
{
    const std::string what = "the key file " + quote(path);
    try {
        const auto place = find_key_file(sysroot, path, what);
        if (!place)
            return std::nullopt;
        check_root_file(place->fd.get(), 0600, what);
        const UniqueFd fd = ProcFs().reopen(place->fd.get(), O_RDONLY, what);
        return read_all(fd.get(), max_key_file, what);
    } catch (const Error &error) {
        throw error.as(ErrorKind::BrokenHost);
    }
}

KeyFile read_key_file(const Sysroot &sysroot, const std::string &path)
{
    const auto text = read_key_text(sysroot, path);
    if (!text)
        throw Error(ErrorKind::BrokenHost, "the key file " + quote(path) + " is not there");
    return KeyFile(*text);
}

std::vector<std::string> key_words(std::string line)
{
    std::vector<std::string> words;
    if (line.starts_with('#'))
        return words;
    for (char &c : line)
        c = c == '\t' ? ' ' : c;
    for (std::string &word : split_list(line, ' ')) {
        if (!word.empty())
            words.push_back(std::move(word));
    }
    return words;
}

} // namespace ogh
