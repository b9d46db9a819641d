// SPDX-License-Identifier: Apache-2.0
#include "engines/document.h"

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "engines/toml_file.h"
#include "engines/yaml_file.h"
#include "host/host_file.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

constexpr size_t max_size = size_t{1} << 22U;

} // namespace

json parse_document(const std::string &path, const std::string &text)
{
    if (!path.ends_with(".json") && !path.ends_with(".yaml"))
        return TomlFile::parse(path, text).to_json();
    try {
        if (path.ends_with(".yaml"))
            return parse_yaml(text);
        return parse_object(text, "the file", [](const auto &, const auto &) { return true; });
    } catch (const Error &error) {
        throw Error(ErrorKind::BrokenHost, quote(path) + ": " + error.what());
    }
}

std::optional<json> read_document(const Sysroot &sysroot, const std::string &path)
{
    const auto place = sysroot.find(path);
    const auto text = place ? read_host_file(sysroot, place->path, max_size) : std::nullopt;
    return text ? std::optional(parse_document(path, *text)) : std::nullopt;
}

const json *find_value(const json &document, const std::vector<std::string> &names)
{
    const json *value = &document;
    for (const std::string &name : names) {
        value = value->is_object() ? find_member(*value, name.c_str()) : nullptr;
        if (value == nullptr)
            return nullptr;
    }
    return value;
}

std::string text_at(const json &document, const std::vector<std::string> &names)
{
    const json *const value = find_value(document, names);
    return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

std::optional<std::vector<std::string>> texts_at(const json &document, const std::vector<std::string> &names)
{
    const json *const list = find_value(document, names);
    if (list == nullptr || !list->is_array())
        return std::nullopt;
    std::vector<std::string> texts;
    for (const json &each : *list)
        if (each.is_string())
            texts.push_back(each.get<std::string>());
    return texts;
}

} // namespace ogh::admin
