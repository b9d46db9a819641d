// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/named_libraries.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace ogh::nvidia_devices {

namespace {

using nlohmann::ordered_json;

constexpr int max_depth = 16;

using Visit = std::function<void(std::string &)>;

void visit(ordered_json &value, const Visit &visit_name, int depth)
{
    if (!value.is_structured() || depth > max_depth)
        return;
    for (const auto &[key, member] : value.items()) {
        if (value.is_object() && key == "library_path" && member.is_string())
            visit_name(member.get_ref<std::string &>());
        else
            visit(member, visit_name, depth + 1);
    }
}

bool is_json(std::string_view text)
{
    return trimmed(text).starts_with('{');
}

/** OpenCL's: the first line. */
std::string line_of(std::string_view text)
{
    return std::string(trimmed(text.substr(0, text.find('\n'))));
}

bool is_library(std::string_view line)
{
    return line.find(".so") != std::string_view::npos && line.find(' ') == std::string_view::npos;
}

ordered_json parsed_json(std::string_view text)
{
    return ordered_json::parse(text, nullptr, false);
}

} // namespace

bool names_libraries(std::string_view path)
{
    return path.ends_with(".json") || path.ends_with(".icd");
}

std::vector<std::string> named_libraries(std::string_view text)
{
    if (!is_json(text)) {
        const std::string line = line_of(text);
        return is_library(line) ? std::vector{line} : std::vector<std::string>();
    }
    std::vector<std::string> names;
    ordered_json document = parsed_json(text);
    visit(
        document, [&](const std::string &name) { names.push_back(name); }, 0);
    return names;
}

std::string with_names(std::string_view text, const std::function<std::string(const std::string &)> &changed)
{
    if (!is_json(text))
        return changed(line_of(text)) + "\n";
    ordered_json document = parsed_json(text);
    visit(
        document, [&](std::string &name) { name = changed(name); }, 0);
    return document.dump(4, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

} // namespace ogh::nvidia_devices
