// SPDX-License-Identifier: Apache-2.0
#include "cdi/scalar.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/letters.h"

namespace ogh::cdi {

namespace {

/** What is a number beyond that is a matter of bits. */
constexpr size_t most_digits = 18;

bool has_only(std::string_view text, std::string_view characters)
{
    return text.find_first_not_of(characters) == std::string_view::npos;
}

bool is_decimal(std::string_view text)
{
    if (text == "0")
        return true;
    text.remove_prefix(text.starts_with('-') ? 1 : 0);
    return !text.empty() && text.size() <= most_digits && text.front() != '0' && has_only(text, "0123456789");
}

/** In whatever case it is written: some are words in three cases. */
bool is_word_of_yaml(std::string_view text)
{
    constexpr auto words = std::to_array<std::string_view>(
        {"y", "n", "yes", "no", "on", "off", "true", "false", "null", ".nan", ".inf", "+.inf", "-.inf"});
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return is_same_word(text, word); });
}

/** By more than what numbers are: digits with at most one point, or what begins as one of another base does. */
bool may_be_number(std::string_view written)
{
    std::string text(written);
    std::erase(text, '_'); // as the reference does with most
    const size_t begin = text.starts_with('+') || text.starts_with('-') ? 1 : 0;
    if (text.size() > begin + 1 && text[begin] == '0' &&
        std::string_view("xXoObB").find(text[begin + 1]) != std::string_view::npos)
        return true;
    return std::any_of(text.begin(), text.end(), is_digit) && has_only(text, "0123456789.eE+-") &&
           std::count(text.begin(), text.end(), '.') <= 1;
}

} // namespace

Scalar resolve_scalar(std::string_view text, bool is_plain)
{
    constexpr std::string_view first_of_others = "~.+-0123456789yYnNtTfFoO";
    if (!is_plain || (!text.empty() && first_of_others.find(text.front()) == std::string_view::npos))
        return Scalar::Text;
    if (text.empty() || text == "~" || text == "null")
        return Scalar::Null;
    if (text == "true" || text == "false")
        return Scalar::Flag;
    if (is_decimal(text))
        return Scalar::Integer;
    if (text.front() == '0' && text.size() <= most_digits && has_only(text, "01234567"))
        return Scalar::Octal;
    return is_word_of_yaml(text) || may_be_number(text) ? Scalar::Unclear : Scalar::Text;
}

} // namespace ogh::cdi
