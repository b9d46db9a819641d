// SPDX-License-Identifier: Apache-2.0
#include "reference_json.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace ogh::fuzz {

using nlohmann::json;

std::optional<json> whole_object(std::string_view text)
{
    // The library would take NUL for the end, and not look at what follows.
    if (text.find('\0') != std::string_view::npos)
        return std::nullopt;
    json document = json::parse(text.begin(), text.end(), nullptr, false);
    if (!document.is_object())
        return std::nullopt;
    return document;
}

Nesting nesting(std::string_view text)
{
    int depth = 0;
    int deepest = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string && c == '\\')
            ++i;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '['))
            deepest = std::max(deepest, ++depth);
        else if (!in_string && (c == '}' || c == ']'))
            --depth;
    }
    if (deepest == 65)
        return Nesting::Either;
    return deepest < 65 ? Nesting::Fine : Nesting::TooDeep;
}

Names names(std::string_view text)
{
    std::vector<std::set<std::string>> objects;
    Names found = Names::Fine;
    const auto look = [&](int /*depth*/, json::parse_event_t event, json &parsed) {
        if (event == json::parse_event_t::object_start)
            objects.emplace_back();
        else if (event == json::parse_event_t::object_end)
            objects.pop_back();
        else if (event == json::parse_event_t::key) {
            const auto &name = parsed.get_ref<const std::string &>();
            if (!objects.back().insert(name).second)
                found = Names::Twice;
            const auto has_case = [](char c) { return (c >= 'A' && c <= 'Z') || (c & 0x80) != 0; };
            const std::set<std::string> of_the_specification = {"additionalGids", "cgroupsPath",
                                                                "mountLabel"};
            if (found == Names::Fine && !of_the_specification.contains(name) &&
                std::any_of(name.begin(), name.end(), has_case))
                found = Names::Either;
        }
        return true;
    };
    std::ignore = json::parse(text.begin(), text.end(), look, false);
    return found;
}

const json *member(const json &object, const char *name)
{
    const auto found = object.find(name);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool is_plain_string(const json &value)
{
    return value.is_string() && value.get_ref<const std::string &>().find('\0') == std::string::npos;
}

bool is_plain_if_there(const json *value)
{
    return value == nullptr || is_plain_string(*value);
}

} // namespace ogh::fuzz
