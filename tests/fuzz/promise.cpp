// SPDX-License-Identifier: Apache-2.0
#include "promise.h"

#include <array>
#include <bit>

namespace ogh::fuzz {

namespace {

/** Takes the next character off `text`; nothing if the bytes there are not the shortest form of one. */
std::optional<char32_t> take_character(std::string_view &text)
{
    constexpr std::array<char32_t, 4> least{0, 0x80, 0x800, 0x10000};
    const auto first = static_cast<unsigned char>(text[0]);
    const int ones = std::countl_one(first);
    const size_t length = ones == 0 ? 1 : static_cast<size_t>(ones);
    if (ones == 1 || ones > 4 || text.size() < length)
        return std::nullopt;
    char32_t character = first & (0x7FU >> static_cast<unsigned>(ones));
    for (const char next : text.substr(1, length - 1)) {
        if (std::countl_one(static_cast<unsigned char>(next)) != 1)
            return std::nullopt;
        character = (character << 6U) | (static_cast<unsigned char>(next) & 0x3FU);
    }
    const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
    if (character < least.at(length - 1) || character > 0x10FFFF || surrogate)
        return std::nullopt;
    text.remove_prefix(length);
    return character;
}

bool is_control(char32_t character)
{
    return character < 0x20 || (character >= 0x7F && character <= 0x9F);
}

/** Those that end a line, reorder it or hide in it. */
bool is_format(char32_t character)
{
    const auto within = [&](char32_t first, char32_t last) {
        return character >= first && character <= last;
    };
    return within(0x200B, 0x200F) || within(0x2028, 0x202E) || within(0x2060, 0x206F) || character == 0x61C ||
           character == 0xFEFF || within(0xE0000, 0xE0FFF);
}

/** Whether `text` is UTF-8 and `fine` holds for each of its characters. */
template<typename Fine> bool consists_of(std::string_view text, const Fine &fine)
{
    while (!text.empty()) {
        const auto character = take_character(text);
        if (!character || !fine(*character))
            return false;
    }
    return true;
}

} // namespace

bool is_one_clean_line(std::string_view text)
{
    return consists_of(text,
                       [](char32_t character) { return !is_control(character) && !is_format(character); });
}

bool is_utf8(std::string_view text)
{
    return consists_of(text, [](char32_t) { return true; });
}

} // namespace ogh::fuzz
