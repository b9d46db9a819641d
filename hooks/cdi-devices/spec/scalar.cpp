// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/spec/scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/letters.h"
#include "base/text.h"

namespace ogh::cdi_devices {

namespace {

constexpr std::string_view core = "tag:yaml.org,2002:";

/** The words that stand for something else than themselves. */
std::optional<Scalar> find_word(std::string_view text)
{
    constexpr auto yes = std::to_array<std::string_view>(
        {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"});
    constexpr auto no = std::to_array<std::string_view>(
        {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"});
    constexpr auto null = std::to_array<std::string_view>({"", "~", "null", "Null", "NULL"});
    constexpr auto nan = std::to_array<std::string_view>({".nan", ".NaN", ".NAN"});
    constexpr auto infinity =
        std::to_array<std::string_view>({".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"});
    constexpr auto below = std::to_array<std::string_view>({"-.inf", "-.Inf", "-.INF"});
    const auto in = [&](const auto &words) {
        return std::find(words.begin(), words.end(), text) != words.end();
    };
    if (in(yes))
        return true;
    if (in(no))
        return false;
    if (in(null))
        return std::monostate();
    if (in(nan))
        return std::numeric_limits<double>::quiet_NaN();
    if (in(infinity))
        return std::numeric_limits<double>::infinity();
    if (in(below))
        return -std::numeric_limits<double>::infinity();
    return std::nullopt;
}

std::optional<std::uint64_t> parse_digits(std::string_view digits, int base)
{
    std::uint64_t value = 0;
    const char *const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, value, base);
    return error == std::errc() && stopped == end ? std::optional(value) : std::nullopt;
}

/** With the sign of its base: "0x1f", "017", "0o17", "0b1", "12". */
std::optional<std::uint64_t> parse_unsigned(std::string_view digits)
{
    int base = 10;
    if (digits.size() > 1 && digits[0] == '0') {
        const char kind = digits[1];
        base = kind == 'x' || kind == 'X' ? 16 : kind == 'b' || kind == 'B' ? 2 : 8;
        digits.remove_prefix(base == 8 && kind != 'o' && kind != 'O' ? 1 : 2);
    }
    return parse_digits(digits, base);
}

std::optional<Scalar> parse_integer(std::string_view text)
{
    // A binary number, and no other, may have its sign behind the sign of its base instead.
    const bool sign_follows = text.starts_with("0b-") || text.starts_with("0b+");
    const char sign = sign_follows ? text[2] : text.front();
    const bool negative = sign == '-';
    const bool is_signed = negative || sign == '+';
    const auto value =
        sign_follows ? parse_digits(text.substr(3), 2) : parse_unsigned(text.substr(is_signed ? 1 : 0));
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    if (!value)
        return std::nullopt;
    if (*value <= most)
        return negative ? -static_cast<std::int64_t>(*value) : static_cast<std::int64_t>(*value);
    if (negative && *value == most + 1)
        return std::numeric_limits<std::int64_t>::min();
    return is_signed ? std::nullopt : std::optional<Scalar>(*value);
}

/** Whether it is written as a number with a fraction or an exponent: digits, perhaps a point among them. */
bool looks_like_float(std::string_view text)
{
    const auto skip_digits = [&] {
        const size_t before = text.size();
        while (!text.empty() && is_digit(text.front()))
            text.remove_prefix(1);
        return before != text.size();
    };
    const auto skip = [&](std::string_view any_of) {
        const bool found = !text.empty() && any_of.find(text.front()) != std::string_view::npos;
        text.remove_prefix(found ? 1 : 0);
        return found;
    };
    skip("+-");
    const bool whole = skip_digits();
    const bool fraction = skip(".") && skip_digits();
    if (!whole && !fraction)
        return false;
    if (skip("eE")) {
        skip("+-");
        return skip_digits() && text.empty();
    }
    return text.empty();
}

std::optional<Scalar> parse_float(std::string_view text)
{
    if (!looks_like_float(text))
        return std::nullopt;
    if (text.starts_with('+'))
        text.remove_prefix(1);
    double value = 0;
    const char *const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc::result_out_of_range) {
        // What is too small is 0, what is too large is no number.
        const size_t exponent = text.find_first_of("eE");
        const bool small = exponent != std::string_view::npos
                               ? text.substr(exponent + 1).starts_with('-')
                               : text.find_first_not_of("-0") == text.find('.');
        return small ? std::optional<Scalar>(text.starts_with('-') ? -0.0 : 0.0) : std::nullopt;
    }
    return error == std::errc() && stopped == end ? std::optional<Scalar>(value) : std::nullopt;
}

/** Without the underscores that stand between digits: all that a number which begins with a point may have. */
std::string without_separators(std::string_view text)
{
    std::string plain;
    for (size_t i = 0; i < text.size(); ++i)
        if (text[i] != '_' || i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) ||
            !is_digit(text[i + 1]))
            plain += text[i];
    return plain;
}

Scalar resolve_plain(std::string_view text)
{
    const bool begins_with_digit = !text.empty() && is_digit(text.front());
    if (auto word = begins_with_digit ? std::nullopt : find_word(text)) // most are numbers
        return *word;
    const char first = text.front(); // "" is a word
    if (first == '.')
        return parse_float(without_separators(text)).value_or(std::string(text));
    if (!is_digit(first) && first != '+' && first != '-')
        return std::string(text);
    std::string plain(text);
    plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
    if (auto integer = parse_integer(plain))
        return *integer;
    return parse_float(plain).value_or(std::string(text));
}

bool is_integer(const Scalar &value)
{
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<std::uint64_t>(value);
}

std::string digits_of(float value)
{
    std::array<char, 64> text{};
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
    const std::string_view scientific(text.data(), static_cast<size_t>(end.ptr - text.data()));
    const size_t e = scientific.find('e');
    int exponent = 0;
    const size_t digits = scientific[e + 1] == '+' ? e + 2 : e + 1;
    std::from_chars(scientific.data() + digits, scientific.data() + scientific.size(), exponent);
    // As %g has it, with as many digits as it takes to read the very same number again.
    constexpr int least = -4;
    constexpr int most = 5;
    if (exponent < least || exponent > most)
        return std::string(scientific);
    const auto fixed = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    return {text.data(), static_cast<size_t>(fixed.ptr - text.data())};
}

} // namespace

bool is_mere_text(std::string_view text, bool plain, std::string_view tag)
{
    constexpr std::string_view others = "~.+-0123456789yYnNtTfFoO";
    return tag.empty() && (!plain || (!text.empty() && others.find(text.front()) == std::string_view::npos));
}

Scalar resolve_scalar(std::string_view text, bool plain, std::string_view tag)
{
    if (is_mere_text(text, plain, tag))
        return std::string(text);
    if (tag.empty())
        return resolve_plain(text);
    if (!tag.starts_with(core))
        return std::string(text);
    const std::string_view type = tag.substr(core.size());
    if (type == "binary" || type == "timestamp")
        throw Error(ErrorKind::BrokenHost,
                    "the tag " + quote("!!" + std::string(type)) + " is not understood here");
    if (type != "bool" && type != "int" && type != "float" && type != "null")
        return std::string(text);
    Scalar value = resolve_plain(text);
    if (const auto *whole = std::get_if<std::int64_t>(&value); type == "float" && whole != nullptr)
        value = static_cast<double>(*whole);
    const bool fits = type == "bool"    ? std::holds_alternative<bool>(value)
                      : type == "int"   ? is_integer(value)
                      : type == "float" ? std::holds_alternative<double>(value)
                                        : std::holds_alternative<std::monostate>(value);
    if (!fits)
        throw Error(ErrorKind::BrokenHost, quote(text) + " is not what its tag says");
    return value;
}

std::string to_string(const Scalar &scalar)
{
    if (const auto *text = std::get_if<std::string>(&scalar))
        return *text;
    if (const auto *flag = std::get_if<bool>(&scalar))
        return *flag ? "true" : "false";
    if (const auto *number = std::get_if<std::int64_t>(&scalar))
        return std::to_string(*number);
    if (const auto *number = std::get_if<std::uint64_t>(&scalar))
        return std::to_string(*number);
    if (std::holds_alternative<std::monostate>(scalar))
        return "";
    // The reference writes it with the digits of 32 bits.
    const auto value = static_cast<float>(std::get<double>(scalar));
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "+Inf" : "-Inf";
    return digits_of(value);
}

} // namespace ogh::cdi_devices
