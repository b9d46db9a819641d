// SPDX-License-Identifier: Apache-2.0
#include "reference_mountinfo.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace ogh::fuzz {

namespace {

using Words = std::vector<std::string_view>;

Words split(std::string_view text, char separator)
{
    Words words;
    for (;;) {
        const size_t end = text.find(separator);
        words.push_back(text.substr(0, end));
        if (end == std::string_view::npos)
            return words;
        text.remove_prefix(end + 1);
    }
}

/** A decimal number without sign and leading zeros, at most `most`. */
std::optional<unsigned> number(std::string_view word, unsigned most)
{
    unsigned value = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != word.data() + word.size() || value > most ||
        (word.size() > 1 && word[0] == '0'))
        return std::nullopt;
    return value;
}

/** Undoes the kernel's escapes; nothing for bytes that it would have escaped. */
std::optional<std::string> unescaped(std::string_view word)
{
    constexpr std::array<std::pair<std::string_view, char>, 5> escapes{
        {{"\\040", ' '}, {"\\011", '\t'}, {"\\012", '\n'}, {"\\134", '\\'}, {"\\043", '#'}}};
    std::string text;
    while (!word.empty()) {
        const auto *escape = std::find_if(escapes.begin(), escapes.end(),
                                          [&](const auto &each) { return word.starts_with(each.first); });
        const bool plain = escape == escapes.end();
        if (plain && (word[0] == '\\' || word[0] == '\t' || word[0] == '\0'))
            return std::nullopt;
        text += plain ? word[0] : escape->second;
        word.remove_prefix(plain ? 1 : escape->first.size());
    }
    return text;
}

bool is_optional_field(std::string_view word)
{
    constexpr std::array<std::string_view, 3> names{"shared:", "master:", "propagate_from:"};
    return word == "unbindable" || std::any_of(names.begin(), names.end(), [&](std::string_view name) {
               return word.starts_with(name) && number(word.substr(name.size()), 1U << 30U);
           });
}

/** Words: id, parent, device, root, target, options, any number of optional fields, "-", type, source, options. */
bool has_right_words(const Words &words)
{
    constexpr size_t before = 6;
    constexpr size_t after = 4;
    if (words.size() < before + after || words[words.size() - after] != "-")
        return false;
    for (size_t i = 0; i < words.size(); ++i) {
        const bool optional = i >= before && i < words.size() - after;
        const bool may_be_empty = i == words.size() - 2;
        if (!unescaped(words[i]) || (optional && !is_optional_field(words[i])) ||
            (words[i].empty() && !may_be_empty))
            return false;
    }
    return words.back().back() != '\r';
}

std::optional<Mount> read_line(std::string_view line)
{
    constexpr unsigned most_ids = std::numeric_limits<int>::max();
    const Words words = split(line, ' ');
    if (!has_right_words(words))
        return std::nullopt;
    const Words device = split(words[2], ':');
    const auto id = number(words[0], most_ids);
    const auto major = number(device.front(), (1U << 12U) - 1);
    const auto minor = number(device.back(), (1U << 20U) - 1);
    if (!id || !number(words[1], most_ids) || device.size() != 2 || !major || !minor)
        return std::nullopt;
    const bool shared = std::any_of(words.begin() + 6, words.end() - 4,
                                    [](std::string_view word) { return word.starts_with("shared:"); });
    return Mount{*id, *major, *minor, unescaped(words[4]).value(), shared};
}

} // namespace

std::vector<Mount> mounts_as_the_kernel_writes(std::string_view text)
{
    if (!text.ends_with('\n'))
        return {};
    text.remove_suffix(1);
    std::vector<Mount> mounts;
    std::set<std::uint64_t> ids;
    for (const std::string_view line : split(text, '\n')) {
        const auto mount = read_line(line);
        if (!mount)
            return {};
        if (ids.insert(mount->id).second)
            mounts.push_back(*mount);
    }
    return mounts;
}

} // namespace ogh::fuzz
