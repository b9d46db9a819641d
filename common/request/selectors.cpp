// SPDX-License-Identifier: Apache-2.0
#include "request/selectors.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/letters.h"
#include "base/number.h"
#include "base/text.h"

namespace ogh {

namespace {

constexpr size_t max_name_size = 128;
constexpr unsigned max_number =
    999'999'999; // far above what a host has; a range of that size is never walked
constexpr std::string_view any_prefix = "any:";
constexpr std::array<std::string_view, 5> keywords{"any", "all", "allowed", "none", "env"};

Error refused(const RequestValue &asked, const std::string &why)
{
    return {ErrorKind::Usage,
            "the " + asked.origin + " " + why + " in " + quote(asked.value) +
                "; it takes 'all', 'none', 'env', 'any:N', 'allowed', indices and ranges ('0', '0-3'), PCI "
                "addresses, names of GPUs and 'any:GROUP:N', separated by commas"};
}

bool is_name_character(char c)
{
    return is_letter_or_digit(c) || c == '-' || c == '.' || c == ':' || c == '/' || c == '_';
}

/** A leading zero would make two ways to say the same, and is octal to some. */
std::optional<unsigned> parse_count(std::string_view text, unsigned limit)
{
    return text.size() > 1 && text.front() == '0' ? std::nullopt : parse_small_number(text, limit);
}

/** `any:N`, or `any:GROUP:N`, where a group may have a colon in its name. */
void parse_any(std::string_view item, const RequestValue &asked, Selectors &selectors)
{
    const std::string_view rest = item.substr(any_prefix.size());
    const size_t colon = rest.rfind(':');
    const auto count =
        parse_count(colon == std::string_view::npos ? rest : rest.substr(colon + 1), max_number);
    if (!count || *count == 0)
        throw refused(asked, "has " + quote(item) + ", which is no number that can be meant,");
    selectors.any = *count;
    if (colon == std::string_view::npos)
        return;
    const Selector group = parse_selector(rest.substr(0, colon), asked);
    if (!std::holds_alternative<DeviceName>(group.what))
        throw refused(asked, "has " + quote(item) + ", which names no group of GPUs,");
    selectors.any_of = group.text;
}

void add_item(Selectors &selectors, const std::string &item, const RequestValue &asked)
{
    if (item == "none" || item == "env")
        throw refused(asked, "has " + quote(item) + " beside others");
    if (item == "all")
        selectors.all = true;
    else if (item == "allowed")
        selectors.allowed = true;
    else if (!add_any(item, asked, selectors))
        selectors.named.push_back(parse_selector(item, asked));
    if ((selectors.all || selectors.allowed) && selectors.any != 0)
        throw refused(asked, "has 'any:N' beside 'all' or 'allowed'");
    if (selectors.all && selectors.allowed)
        throw refused(asked, "has 'allowed' beside 'all'");
}

} // namespace

RequestValue request_value(std::string value, std::string origin, const char *verb)
{
    if (value.size() > max_request_size)
        throw Error(ErrorKind::Usage, "the " + origin + " " + verb + " longer than " +
                                          std::to_string(max_request_size) + " bytes");
    return {std::move(value), std::move(origin)};
}

bool add_any(std::string_view item, const RequestValue &asked, Selectors &selectors)
{
    if (!item.starts_with(any_prefix))
        return false;
    if (selectors.any != 0)
        throw refused(asked, "has 'any:N' twice");
    parse_any(item, asked, selectors);
    return true;
}

std::optional<IndexRange> parse_index_range(std::string_view item, unsigned limit)
{
    const size_t dash = item.find('-');
    const auto first = parse_count(item.substr(0, dash), limit);
    const auto last = dash == std::string_view::npos ? first : parse_count(item.substr(dash + 1), limit);
    if (!first || !last || *last < *first)
        return std::nullopt;
    return IndexRange{*first, *last};
}

Selector parse_selector(std::string_view item, const RequestValue &asked)
{
    if (item.empty())
        throw refused(asked, "has an empty item");
    if (item.size() > max_name_size)
        throw refused(asked, "has an item of more than " + std::to_string(max_name_size) + " bytes");
    if (item.find_first_not_of("-0123456789") == std::string_view::npos) {
        const auto range = parse_index_range(item, max_number);
        if (!range)
            throw refused(asked,
                          "has " + quote(item) + ", which is no number and no range that can be meant,");
        return {std::string(item), *range};
    }
    if (const auto address = parse_pci_address(item, PciDomain::Optional))
        return {std::string(item), *address};
    if (!std::all_of(item.begin(), item.end(), is_name_character) || item.starts_with(any_prefix) ||
        contains(keywords, item))
        throw refused(asked, "has " + quote(item) + ", which names no GPU,");
    return {std::string(item), DeviceName{std::string(item)}};
}

Selectors parse_selectors(const RequestValue &asked)
{
    Selectors selectors;
    const std::string_view whole = trimmed(asked.value);
    selectors.none = whole == "none";
    selectors.environment = whole == "env";
    if (selectors.none || selectors.environment)
        return selectors;
    for (const std::string &item : without_repeats(split_list(asked.value)))
        add_item(selectors, item, asked);
    return selectors;
}

Selectors parse_allowed_selectors(const RequestValue &asked)
{
    Selectors selectors = parse_selectors(asked);
    if (selectors.none || selectors.environment || selectors.any != 0 || selectors.allowed)
        throw Error(ErrorKind::Usage,
                    "the " + asked.origin + " has 'none', 'env', 'any:N' or 'allowed' in " +
                        quote(asked.value) +
                        "; it takes 'all', indices and ranges, PCI addresses and names of GPUs");
    return selectors;
}

} // namespace ogh
