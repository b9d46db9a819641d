// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz::text {

namespace {

/** Takes one byte off quoted text, its escape undone. */
char take_byte(std::string_view &text)
{
    const auto take = [&](size_t length) {
        require(length <= text.size(), "an escape is whole");
        const std::string_view taken = text.substr(0, length);
        text.remove_prefix(length);
        return taken;
    };
    const char first = take(1)[0];
    if (first != '\\')
        return first;
    const char escape = take(1)[0];
    if (escape == 'n')
        return '\n';
    if (escape != 'x')
        return escape;
    const std::string_view digits = take(2);
    unsigned char value = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    require(parsed.ptr == digits.data() + digits.size(), "an escape has two hex digits");
    return static_cast<char>(value);
}

std::string unquoted(std::string_view quoted)
{
    require(quoted.size() >= 2 && quoted.front() == '\'' && quoted.back() == '\'', "quotes stand around");
    quoted = quoted.substr(1, quoted.size() - 2);
    std::string text;
    while (!quoted.empty()) {
        require(quoted[0] != '\'', "a quote inside is escaped");
        text += take_byte(quoted);
    }
    return text;
}

void check_quote(std::string_view input)
{
    const std::string whole = quote(input, input.size());
    require(is_one_clean_line(whole), "quoted text is one clean line");
    require(unquoted(whole) == input, "quoted text can be told from any other");
    const size_t limit = input.size() / 2;
    const std::string cut = quote(input, limit);
    require(is_one_clean_line(cut), "quoted text that is cut is one clean line");
    require(cut.size() <= 4 * limit + std::string_view("'…'").size(), "the limit is one");
    const std::string_view mark = "…'";
    require(cut.ends_with(mark) || input.empty(), "a cut is marked");
    if (!input.empty())
        require(unquoted(cut.substr(0, cut.size() - mark.size()) + "'") == input.substr(0, limit),
                "what is left is the beginning");
}

void check_printable(std::string_view input)
{
    const std::string line = printable(input);
    require(is_one_clean_line(line), "printable text is one clean line");
    require(printable(line) == line, "printable text stays as it is");
}

void check_utf8(std::string_view input)
{
    const std::string valid = as_utf8(input);
    require(is_utf8(valid), "the result is UTF-8");
    require(as_utf8(valid) == valid, "UTF-8 stays as it is");
    require((valid == input) == is_utf8(input), "only what is no UTF-8 changes");
}

void check_lists(std::string_view input)
{
    const auto has_blank_end = [](std::string_view part) {
        return !part.empty() &&
               (part.find_first_of(" \t") == 0 || part.find_last_of(" \t") == part.size() - 1);
    };
    const auto parts = split_list(input);
    require(parts.size() == static_cast<size_t>(std::count(input.begin(), input.end(), ',')) + 1,
            "every separator separates");
    for (const std::string &part : parts)
        require(part.find(',') == std::string::npos && !has_blank_end(part), "parts are trimmed");
    require(is_one_clean_line(quote_list(parts)), "a quoted list is one clean line");
    const std::string_view inside = trimmed(input);
    require(!has_blank_end(inside) && input.find(inside) != std::string_view::npos,
            "trimming takes ends only");
}

} // namespace

void check(std::string_view input)
{
    check_quote(input);
    check_printable(input);
    check_utf8(input);
    check_lists(input);
}

} // namespace ogh::fuzz::text
