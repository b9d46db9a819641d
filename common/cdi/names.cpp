// SPDX-License-Identifier: Apache-2.0
#include "cdi/names.h"

#include <algorithm>

#include "base/letters.h"
#include "base/text.h"

namespace ogh::cdi {

namespace {

/** @param further what may stand between the first and the last character besides letters and digits */
std::string problem_of(std::string_view name, const char *what, bool digit_first, std::string_view further)
{
    if (name.empty())
        return std::string("an empty ") + what;
    const auto refused = [&](const char *why) {
        return std::string("the ") + what + " " + quote(name) + " " + why;
    };
    if (!is_letter(name.front()) && !(digit_first && is_letter_or_digit(name.front())))
        return refused(digit_first ? "begins with no letter or digit" : "begins with no letter");
    if (!is_letter_or_digit(name.back()))
        return refused("ends in no letter or digit");
    const auto is_fine = [&](char c) {
        return is_letter_or_digit(c) || further.find(c) != std::string_view::npos;
    };
    return std::all_of(name.begin(), name.end(), is_fine) ? "" : refused("has a character that no name has");
}

} // namespace

std::string device_problem(std::string_view name)
{
    return problem_of(name, "device name", true, "_-.:");
}

std::string kind_problem(std::string_view kind)
{
    const size_t slash = kind.find('/');
    if (slash == std::string_view::npos)
        return "the kind " + quote(kind) + " is not like vendor.com/class";
    const std::string vendor = problem_of(kind.substr(0, slash), "vendor", false, "_-.");
    return vendor.empty() ? problem_of(kind.substr(slash + 1), "class", false, "_-.") : vendor;
}

std::string name_problem(const QualifiedName &name)
{
    const std::string problem = kind_problem(name.kind);
    return problem.empty() && name.has_device ? device_problem(name.device) : problem;
}

QualifiedName split_name(std::string_view name)
{
    const size_t sign = name.find('=');
    if (sign == std::string_view::npos)
        return {std::string(name), "", false};
    return {std::string(name.substr(0, sign)), std::string(name.substr(sign + 1)), true};
}

} // namespace ogh::cdi
