// SPDX-License-Identifier: Apache-2.0
#include "engines/document.h"

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "engines/toml_file.h"
#include "host/host_file.h"
#include "yaml/yaml_text.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

constexpr size_t max_size = size_t{1} << 22U;

bool is_toml(const std::string &path)
{
    return !path.ends_with(".json") && !path.ends_with(".yaml");
}

/** Keys of mappings that are no scalars are left out. */
json convert(const YamlDocument &document, const YamlNode &node)
{
    if (node.type == YamlNode::Type::Scalar)
        return std::string(document.text(node));
    if (node.type == YamlNode::Type::Sequence) {
        json list = json::array();
        for (size_t i = 0; i < YamlDocument::size(node); ++i)
            list.push_back(convert(document, document.member(node, i)));
        return list;
    }
    json object = json::object();
    for (size_t i = 0; i < YamlDocument::size(node); i += 2)
        if (const YamlNode &key = document.member(node, i); key.type == YamlNode::Type::Scalar)
            object[std::string(document.text(key))] = convert(document, document.member(node, i + 1));
    return object;
}

json parse_yaml(std::string_view text)
{
    const YamlDocument document = read_yaml(text);
    return document.root() == nullptr ? json() : convert(document, *document.root());
}

} // namespace

json parse_document(const std::string &path, const std::string &text)
{
    try {
        if (is_toml(path))
            return parse_toml(text);
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
    const auto text =
        place ? read_host_file(sysroot, place->path, is_toml(path) ? max_toml_size : max_size) : std::nullopt;
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
