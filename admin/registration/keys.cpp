// SPDX-License-Identifier: Apache-2.0
#include "registration/keys.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <utility>
#include <vector>

#include "build_config.h"

namespace ogh::admin {

namespace {

constexpr auto known_keys = std::to_array<std::string_view>({OGH_REQUEST_KEYS});

/** In small letters, and of punctuation points alone: what keys are mistaken in most. */
std::string plain(std::string_view key)
{
    std::string text;
    for (const char letter : key) {
        const auto byte = static_cast<unsigned char>(letter);
        text += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '.';
    }
    return text;
}

/** How many letters have to be put in, taken out or changed to make one of the other. */
size_t distance(std::string_view one, std::string_view other)
{
    std::vector<size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= one.size(); ++i) {
        size_t diagonal = std::exchange(row[0], i);
        for (size_t j = 1; j <= other.size(); ++j) {
            const size_t changed = diagonal + (one[i - 1] == other[j - 1] ? 0U : 1U);
            diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
        }
    }
    return row.back();
}

/** Whether it begins almost like the prefix, whatever follows. */
bool begins_nearly(const std::string &key)
{
    constexpr size_t tolerated = 2;
    const std::string wanted = plain(annotation_prefix);
    for (size_t length = wanted.size() - tolerated; length <= wanted.size() + tolerated; ++length)
        if (length <= key.size() && distance(std::string_view(key).substr(0, length), wanted) <= tolerated)
            return true;
    return key.find("oci.gpu.hook") != std::string::npos;
}

bool names_a_hook(const std::string &key)
{
    const auto hooks = our_hooks();
    return std::any_of(hooks.begin(), hooks.end(), [&](const OurHook &hook) {
        const std::string name = plain(hook.name);
        const size_t at = key.find(name);
        return at != std::string::npos && (at == 0 || key[at - 1] == '.');
    });
}

} // namespace

KeyMeaning meaning_of(const std::string &key)
{
    const std::string name = key.substr(0, key.find('/'));
    if (name.starts_with(annotation_prefix)) {
        const std::string rest = name.substr(annotation_prefix.size());
        if (std::find(known_keys.begin(), known_keys.end(), rest) == known_keys.end())
            return {KeyMeaning::Kind::Unknown, nullptr};
        return {KeyMeaning::Kind::Known, find_hook(rest.substr(0, rest.find('.')))};
    }
    constexpr size_t longest = 512; // of what is looked at; what somebody meant is not longer
    const std::string text = plain(std::string_view(key).substr(0, longest));
    const bool is_near = begins_nearly(text) || names_a_hook(text);
    return {is_near ? KeyMeaning::Kind::NearlyOurs : KeyMeaning::Kind::Other, nullptr};
}

} // namespace ogh::admin
