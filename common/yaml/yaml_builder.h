// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "yaml/yaml_document.h"

namespace ogh {

/** What is wrong with a text, and in which line of it. */
Error refused_yaml(size_t line, const std::string &why);

/**
 * Makes a document of values that are told one after the other, within its limits.
 * Each function throws Error (BrokenHost) if the limits do not allow what it adds.
 */
class YamlBuilder final {
public:
    using Index = std::uint32_t; ///< of a value

    /** @param text_size about how long the text is */
    YamlBuilder(YamlDocument &document, size_t text_size);

    Index add_scalar(std::string_view text, bool plain, size_t line);

    /** A sequence or a mapping, of which the members follow. */
    Index open(YamlNode::Type type, size_t line);

    /** That which was opened last ends. */
    Index close(size_t line);

    /** A value that has ended, once more: an alias of it. */
    void repeat(Index value, size_t line);

    /** How many are open. */
    [[nodiscard]] size_t depth() const { return open_.size(); }

private:
    struct Open {
        Index node;
        size_t first; ///< of its members, in `pending_`
    };

    Index add(YamlNode::Type type, size_t line);
    void require_room(size_t line) const;
    void place(Index index);
    void weigh(YamlNode &node, std::span<const Index> members, size_t line) const;

    YamlDocument &document_;
    std::vector<Open> open_;
    std::vector<Index> pending_; ///< members of those that have not ended
};

} // namespace ogh
