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

bool stands_for_itself(char character)
{
    return character > ' ' && character <= '~' && character != '\\' && character != ',';
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
    } else if (std::all_of(text.begin(), text.end(), stands_for_itself)) {
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

void add_word(std::string &line, std::string_view text)
{
    line += ' ';
    add_text(line, text);
}

void add_word(std::string &line, std::uint64_t number)
{
    std::array<char, 24> text{};
    const auto end = std::to_chars(text.begin(), text.end(), number);
    line += ' ';
    line.append(text.data(), end.ptr);
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

void add_list(std::string &line, const std::vector<std::string> &texts)
{
    char separator = ' ';
    for (const std::string &text : texts) {
        line += separator;
        add_text(line, text);
        separator = ',';
    }
    if (texts.empty())
        add_word(line, "");
}

void LeaseWords::refuse(const char *name) const
{
    throw Error(ExitCode::Host, "the lease file has a wrong value of " + quote(name) + " in line " +
                                    std::to_string(line_number_));
}

std::string_view LeaseWords::word(const char *name)
{
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
    if (std::all_of(word.begin(), word.end(), stands_for_itself))
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

void LeaseWords::end() const
{
    if (!is_at_end_)
        refuse("end of the line");
}

} // namespace ogh
