// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

namespace ogh {

namespace {

bool is_continuation(char byte)
{
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/** Bytes in the well-formed UTF-8 sequence at the start of `text` (Unicode 15, table 3-7), 0 if there is none. */
size_t utf8_length(std::string_view text)
{
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80)
        return 1;
    const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < length)
        return 0;
    for (size_t i = 1; i < length; ++i) {
        if (!is_continuation(text[i]))
            return 0;
    }
    const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
    const bool out_of_range = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
    return overlong || out_of_range ? 0 : length;
}

void append_hex(std::string &out, char byte)
{
    constexpr std::string_view digits = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    out += "\\x";
    out += digits[value >> 4U];
    out += digits[value & 0xFU];
}

struct Range {
    char32_t first, last;
};

/**
 * Control and format characters, and separators of lines and paragraphs: general categories Cc, Cf, Zl and Zp of
 * Unicode 15.0 (DerivedGeneralCategory.txt), with the unassigned ones between and behind them that are to be ignored
 * by default (U+2065, and the rest of U+E0000 to U+E0FFF, which holds tags and variation selectors). Ascending.
 */
constexpr std::array<Range, 21> unprintable{{
    {0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x0600, 0x0605},   {0x061C, 0x061C},
    {0x06DD, 0x06DD},   {0x070F, 0x070F},   {0x0890, 0x0891},   {0x08E2, 0x08E2},   {0x180E, 0x180E},
    {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},
    {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
    {0xE0000, 0xE0FFF},
}};

/** @param sequence one that utf8_length() has found */
char32_t code_point(std::string_view sequence)
{
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(sequence[i]); };
    char32_t value = sequence.size() == 1 ? byte(0) : byte(0) & (0x7FU >> sequence.size());
    for (size_t i = 1; i < sequence.size(); ++i)
        value = (value << 6U) | (byte(i) & 0x3FU);
    return value;
}

bool is_printable(std::string_view sequence)
{
    const char32_t value = code_point(sequence);
    const auto *const range = std::lower_bound(unprintable.begin(), unprintable.end(), value,
                                               [](const Range &each, char32_t c) { return each.last < c; });
    return range == unprintable.end() || value < range->first;
}

/** Calls `append(out, sequence)` for what is valid; bytes that are not become \xNN. */
template<typename Append>
std::string rewritten(std::string_view text, const Append &append, std::string out = {})
{
    out.reserve(out.size() + text.size() + 1);
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        if (length == 0)
            append_hex(out, text[0]);
        else
            append(out, text.substr(0, length));
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

void append_printable(std::string &out, std::string_view sequence)
{
    if (is_printable(sequence))
        out += sequence;
    else
        for (const char byte : sequence)
            append_hex(out, byte);
}

void append_quoted(std::string &out, std::string_view sequence)
{
    if (sequence == "\n")
        out += "\\n";
    else if (sequence == "'" || sequence == "\\")
        (out += '\\') += sequence;
    else
        append_printable(out, sequence);
}

} // namespace

std::string mode_text(mode_t mode)
{
    constexpr mode_t permissions = 07777;
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%04o", mode & permissions);
    return text.data();
}

std::string quote(std::string_view text, size_t limit)
{
    const bool cut = text.size() > limit;
    return rewritten(text.substr(0, limit), append_quoted, "'") + (cut ? "…'" : "'");
}

std::string printable(std::string_view text)
{
    return rewritten(text, append_printable);
}

std::string quote_list(const std::vector<std::string> &items)
{
    std::string out;
    for (const std::string &item : items) {
        if (!out.empty())
            out += ", ";
        out += quote(item);
    }
    return out;
}

std::string as_utf8(std::string_view text)
{
    return rewritten(text, [](std::string &out, std::string_view sequence) { out += sequence; });
}

std::string_view trimmed(std::string_view text)
{
    const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && is_blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back()))
        text.remove_suffix(1);
    return text;
}

std::string_view next_part(std::string_view &text, char separator)
{
    const std::string_view part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    return part;
}

std::vector<std::string_view> split_views(std::string_view text, char separator)
{
    std::vector<std::string_view> parts;
    for (bool is_last = false; !is_last;) {
        is_last = text.find(separator) == std::string_view::npos;
        parts.push_back(trimmed(next_part(text, separator)));
    }
    return parts;
}

std::vector<std::string> split_list(std::string_view text, char separator)
{
    const std::vector<std::string_view> parts = split_views(text, separator);
    return {parts.begin(), parts.end()};
}

std::string list_text(const std::vector<std::string> &parts)
{
    std::string text;
    for (const std::string &part : parts)
        text += (text.empty() ? "" : ",") + part;
    return text;
}

std::vector<std::string> without_repeats(const std::vector<std::string> &texts)
{
    std::vector<std::string> result;
    std::set<std::string_view> known;
    for (const std::string &text : texts) {
        if (known.insert(text).second)
            result.push_back(text);
    }
    return result;
}

} // namespace ogh
