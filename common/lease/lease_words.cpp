// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_words.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace ogh {

namespace {

constexpr std::string_view digits = "0123456789abcdef";
constexpr std::string_view nothing = "-";

/** Which bytes stand for themselves: a table, since there may be a thousand lines of hundreds of bytes. */
constexpr std::array<bool, 256> plain = [] {
    std::array<bool, 256> table{};
    for (unsigned char byte = '!'; byte <= '~'; ++byte)
        table.at(byte) = byte != '\\' && byte != ',';
    return table;
}();

bool stands_for_itself(char character)
{
    return plain[static_cast<unsigned char>(character)];
}

/** To the end in any case, which is faster: mostly they do. */
bool stand_for_themselves(std::string_view text)
{
    bool all = true;
    for (const char character : text)
        all &= stands_for_itself(character);
    return all;
}

void add_escape(std::string &line, char character)
{
    const auto byte = static_cast<unsigned char>(character);
    line += "\\x";
    line += digits[byte >> 4U];
    line += digits[byte & 15U];
}

/** Without the blank in front. */
void add_text(std::string &line, std::string_view text)
{
    if (text.empty()) {
        line += nothing;
    } else if (text == nothing) {
        add_escape(line, text.front());
    } else if (stand_for_themselves(text)) {
        line += text;
    } else {
        for (const char character : text) {
            if (stands_for_itself(character))
                line += character;
            else
                add_escape(line, character);
        }
    }
}

/** The byte that \xNN at the start of the text stands for; 0 where it is none, and where it would be that. */
char escaped_byte(std::string_view text)
{
    if (text.size() < 4 || text[1] != 'x')
        return 0;
    const size_t high = digits.find(text[2]);
    const size_t low = digits.find(text[3]);
    if (high == std::string_view::npos || low == std::string_view::npos)
        return 0;
    return static_cast<char>(high << 4U | low);
}

} // namespace

LeaseLine::LeaseLine(std::string &text, std::string_view kind, LeaseWordStyle style)
    : text_(text), style_(style)
{
    text_ += kind;
}

void LeaseLine::begin(std::string_view name)
{
    text_ += ' ';
    if (style_ == LeaseWordStyle::Named) {
        text_ += name;
        text_ += '=';
    }
}

void LeaseLine::add(std::string_view name, std::string_view text)
{
    begin(name);
    add_text(text_, text);
}

void LeaseLine::add(std::string_view name, std::uint64_t number)
{
    std::array<char, 24> text{};
    const auto end = std::to_chars(text.begin(), text.end(), number);
    begin(name);
    text_.append(text.data(), end.ptr);
}

void LeaseLine::add(std::string_view name, const std::vector<std::string> &texts)
{
    begin(name);
    const char *separator = "";
    for (const std::string &text : texts) {
        text_ += separator;
        add_text(text_, text);
        separator = ",";
    }
    if (texts.empty())
        text_ += nothing;
}

size_t word_size(std::string_view text)
{
    std::string word;
    add_text(word, text);
    return word.size();
}

std::string_view beginning_of(std::string_view text, size_t most)
{
    size_t size = text == nothing ? 3U : 0U; // besides its own byte
    size_t end = 0;
    for (; end < text.size(); ++end) {
        size += stands_for_itself(text[end]) ? 1U : 4U;
        if (size > most)
            break;
    }
    return text.substr(0, end);
}

bool is_lease_name(std::string_view text)
{
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char character) {
        return (character >= 'a' && character <= 'z') || (character >= '0' && character <= '9') ||
               character == '-';
    });
}

void LeaseWords::refuse(const char *name) const
{
    throw Error(ErrorKind::BrokenHost, "the lease file has a wrong value of " + quote(name) + " in line " +
                                           std::to_string(line_number_));
}

bool LeaseWords::next_is(std::string_view name) const
{
    return style_ == LeaseWordStyle::Named && left_.starts_with(name) &&
           left_.substr(name.size()).starts_with('=');
}

std::string_view LeaseWords::word(const char *name)
{
    if (style_ == LeaseWordStyle::Named) {
        if (!next_is(name))
            refuse(name);
        left_.remove_prefix(std::string_view(name).size() + 1);
    }
    const size_t end = left_.find(' ');
    const std::string_view found = left_.substr(0, end);
    if (is_at_end_ || found.empty())
        refuse(name);
    is_at_end_ = end == std::string_view::npos;
    left_.remove_prefix(is_at_end_ ? left_.size() : end + 1);
    return found;
}

std::uint64_t LeaseWords::number(const char *name, std::uint64_t most)
{
    const std::string_view digits_of_it = word(name);
    std::uint64_t value = 0;
    const char *end = digits_of_it.data() + digits_of_it.size();
    const auto result = std::from_chars(digits_of_it.data(), end, value);
    const bool is_padded = digits_of_it.size() > 1 && digits_of_it.front() == '0';
    if (result.ec != std::errc() || result.ptr != end || is_padded || value > most)
        refuse(name);
    return value;
}

std::string LeaseWords::text(const char *name)
{
    return decoded(word(name), name);
}

std::vector<std::string> LeaseWords::list(const char *name)
{
    const std::string_view items = word(name);
    std::vector<std::string> found;
    if (items == nothing)
        return found;
    for (size_t start = 0; start <= items.size();) {
        const size_t end = std::min(items.find(',', start), items.size());
        found.push_back(decoded(items.substr(start, end - start), name));
        if (found.back().empty())
            refuse(name);
        start = end + 1;
    }
    return found;
}

std::string LeaseWords::decoded(std::string_view word, const char *name) const
{
    if (stand_for_themselves(word))
        return word == nothing ? "" : std::string(word);
    std::string text;
    for (std::string_view left = word; !left.empty();) {
        const bool is_plain = left.front() != '\\';
        text += is_plain ? left.front() : escaped_byte(left);
        left.remove_prefix(is_plain ? 1 : std::min<size_t>(4, left.size()));
    }
    std::string again;
    add_text(again, text);
    if (again != word || text.find('\0') != std::string::npos)
        refuse(name);
    return text;
}

std::string LeaseWords::unknown() const
{
    if (is_at_end_)
        return "";
    if (style_ == LeaseWordStyle::Plain)
        refuse("end of the line");
    std::vector<std::string_view> names;
    for (std::string_view left = line_; !left.empty();) {
        const std::string_view word = left.substr(0, left.find(' '));
        names.push_back(word.substr(0, word.find('=')));
        if (!is_lease_name(names.back()) || word.size() < names.back().size() + 2 ||
            !std::all_of(word.begin(), word.end(), [](char one) { return one > ' ' && one <= '~'; }))
            refuse("a field");
        left.remove_prefix(std::min(word.size() + 1, left.size()));
    }
    std::sort(names.begin(), names.end());
    if (left_.empty() || line_.ends_with(' ') ||
        std::adjacent_find(names.begin(), names.end()) != names.end())
        refuse("a field");
    return " " + std::string(left_);
}

} // namespace ogh
