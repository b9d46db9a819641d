// SPDX-License-Identifier: Apache-2.0
#include "yaml/yaml_builder.h"

#include <algorithm>
#include <cstddef>

namespace ogh {

namespace {

constexpr size_t bytes_per_weight = 64;

Error too_deep(size_t line)
{
    return refused_yaml(line,
                        "it is nested deeper than " + std::to_string(YamlDocument::max_depth) + " levels");
}

} // namespace

Error refused_yaml(size_t line, const std::string &why)
{
    return {ErrorKind::BrokenHost, "it is no YAML, line " + std::to_string(line) + ": " + why};
}

YamlBuilder::YamlBuilder(YamlDocument &document, size_t text_size) : document_(document)
{
    constexpr size_t bytes_per_node = 8; // of a file that is nothing but short names
    document_.text_.reserve(text_size);
    document_.nodes_.reserve(text_size / bytes_per_node);
    document_.members_.reserve(text_size / bytes_per_node);
}

YamlBuilder::Index YamlBuilder::add_scalar(std::string_view text, bool plain, size_t line)
{
    const Index index = add(YamlNode::Type::Scalar, line);
    YamlNode &node = document_.nodes_[index];
    node.value_ = {static_cast<Index>(document_.text_.size()), static_cast<Index>(text.size())};
    document_.text_ += text;
    node.weight_ += static_cast<Index>(text.size() / bytes_per_weight);
    node.plain = plain;
    place(index);
    return index;
}

YamlBuilder::Index YamlBuilder::open(YamlNode::Type type, size_t line)
{
    if (open_.size() == YamlDocument::max_depth)
        throw too_deep(line);
    // Until it has ended nothing is in it, so that a walk over the nodes has an end.
    const Index index = add(type, line);
    open_.push_back({index, pending_.size()});
    return index;
}

YamlBuilder::Index YamlBuilder::close(size_t line)
{
    const auto [index, first] = open_.back();
    YamlNode &node = document_.nodes_[index];
    node.value_ = {static_cast<Index>(document_.members_.size()),
                   static_cast<Index>(pending_.size() - first)};
    weigh(node, std::span(pending_).subspan(first), line);
    const auto begin = pending_.begin() + static_cast<std::ptrdiff_t>(first);
    document_.members_.insert(document_.members_.end(), begin, pending_.end());
    pending_.erase(begin, pending_.end());
    open_.pop_back();
    place(index);
    return index;
}

void YamlBuilder::weigh(YamlNode &node, std::span<const Index> members, size_t line) const
{
    size_t weight = 1;
    for (const Index index : members) {
        const YamlNode &member = document_.nodes_[index];
        node.height_ = std::max(node.height_, member.height_ + 1);
        weight += member.weight_;
    }
    if (weight > YamlDocument::max_weight)
        throw refused_yaml(line, "it is too large");
    if (node.height_ > YamlDocument::max_depth)
        throw too_deep(line);
    node.weight_ = static_cast<std::uint32_t>(weight);
}

void YamlBuilder::repeat(Index value, size_t line)
{
    require_room(line);
    document_.nodes_.push_back(document_.nodes_[value]);
    document_.nodes_.back().is_alias = true;
    place(static_cast<Index>(document_.nodes_.size() - 1));
}

void YamlBuilder::require_room(size_t line) const
{
    if (document_.nodes_.size() >= YamlDocument::max_weight || pending_.size() >= YamlDocument::max_weight)
        throw refused_yaml(line, "it is too large");
}

YamlBuilder::Index YamlBuilder::add(YamlNode::Type type, size_t line)
{
    require_room(line);
    YamlNode node;
    node.type = type;
    node.line = static_cast<std::uint32_t>(line);
    document_.nodes_.push_back(node);
    return static_cast<Index>(document_.nodes_.size() - 1);
}

void YamlBuilder::place(Index index)
{
    if (open_.empty())
        document_.root_ = index;
    else
        pending_.push_back(index);
}

} // namespace ogh
