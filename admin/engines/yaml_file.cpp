// SPDX-License-Identifier: Apache-2.0
#include "engines/yaml_file.h"

#include <string>

#include <nlohmann/json.hpp>

#include "yaml/yaml_text.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

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

} // namespace

json parse_yaml(std::string_view text)
{
    const YamlDocument document = read_yaml(text);
    return document.root() == nullptr ? json() : convert(document, *document.root());
}

} // namespace ogh::admin
