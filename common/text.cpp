// SPDX-License-Identifier: Apache-2.0
#include "text.h"

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

bool is_control(char byte)
{
    const auto value = static_cast<unsigned char>(byte);
    return value < 0x20 || value == 0x7F;
}

/** C1 controls (U+0080 to U+009F) move a terminal's cursor as ESC does. */
bool is_c1_control(std::string_view sequence)
{
    return sequence.size() == 2 && sequence[0] == '\xC2' && static_cast<unsigned char>(sequence[1]) < 0xA0;
}

void append_escaped(std::string &out, std::string_view sequence)
{
    if (sequence == "\n")
        out += "\\n";
    else if (sequence == "'" || sequence == "\\")
        (out += '\\') += sequence;
    else if (is_control(sequence[0]) || is_c1_control(sequence))
        for (const char byte : sequence)
            append_hex(out, byte);
    else
        out += sequence;
}

} // namespace

std::string quote(std::string_view text, size_t limit)
{
    const bool cut = text.size() > limit;
    text = text.substr(0, limit);
    std::string out = "'";
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        if (length == 0)
            append_hex(out, text[0]);
        else
            append_escaped(out, text.substr(0, length));
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out + (cut ? "…'" : "'");
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
    std::string out;
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        if (length == 0)
            append_hex(out, text[0]);
        else
            out += text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

std::string_view trimmed(std::string_view text)
{
    constexpr std::string_view blanks = " \t";
    const size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> split_list(std::string_view text, char separator)
{
    std::vector<std::string> parts;
    for (;;) {
        const size_t end = text.find(separator);
        parts.emplace_back(trimmed(text.substr(0, end)));
        if (end == std::string_view::npos)
            return parts;
        text.remove_prefix(end + 1);
    }
}

} // namespace ogh
