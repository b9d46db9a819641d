// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "support/expect.h"
#include "yaml/yaml_builder.h"
#include "yaml/yaml_text.h"

namespace ogh::test {

/** All that is known of a value and of what is in it. */
inline std::string written(const YamlDocument &document, const YamlNode &node)
{
    std::string text = std::to_string(node.line) + (node.plain ? "p" : "");
    if (node.type == YamlNode::Type::Scalar)
        return text + "<" + std::string(document.text(node)) + ">";
    text += node.type == YamlNode::Type::Sequence ? "[" : "{";
    for (size_t i = 0; i < YamlDocument::size(node); ++i)
        text += written(document, document.member(node, i));
    return text + (node.type == YamlNode::Type::Sequence ? "]" : "}");
}

/** What a text in YAML has, or what is wrong with it. */
inline std::string read_values(const std::string &text)
{
    std::string values;
    const std::string why =
        failure_of([&] {
            const YamlDocument document = read_yaml(text);
            values = document.root() == nullptr ? "nothing" : written(document, *document.root());
        }).message;
    return values + why;
}

/** Whether a reader of one form, such as read_plain_json(), takes the whole text, which then needs no library. */
inline bool is_understood(bool (*read)(std::string_view, YamlBuilder &), std::string_view text)
{
    YamlDocument document;
    YamlBuilder builder(document, text.size());
    return read(text, builder);
}

} // namespace ogh::test
