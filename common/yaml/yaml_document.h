// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ogh {

/** A value of a YamlDocument. */
struct YamlNode {
    enum class Type : std::uint8_t { Scalar, Sequence, Mapping };

    Type type = Type::Scalar;
    bool plain = false;     ///< a scalar without quotes, which may stand for a number and the like
    bool is_alias = false;  ///< an alias of it stands there
    std::uint32_t line = 0; ///< where it begins; the first is 1

private:
    friend class YamlBuilder;
    friend class YamlDocument;
    struct Range {
        std::uint32_t first = 0;
        std::uint32_t count = 0;
    };

    Range value_;              ///< of a scalar, in the document's text; else in the list of members
    std::uint32_t height_ = 0; ///< how deep what it contains is nested
    std::uint32_t weight_ = 1; ///< of all that it contains, aliases followed; see max_weight
};

/**
 * A document of YAML 1.1: what a scalar stands for is for the caller to say. read_yaml() makes it of a text. An
 * alias is a node with the very members of what its anchor names. A small text can stand for an endless one by them, so
 * the limits are those of a walk over the nodes that follows them: it may be recursive, and copy all that it meets.
 */
class YamlDocument final {
public:
    static constexpr std::uint32_t max_depth = 64;
    static constexpr size_t max_weight =
        1'000'000; ///< a node counts as one, and 64 bytes of its text as one more

    /** The outermost value; nullptr if there is none. It lives as long as the document. */
    [[nodiscard]] const YamlNode *root() const
    {
        return root_ < 0 ? nullptr : &nodes_[static_cast<size_t>(root_)];
    }

    /** Of a scalar. It may contain NUL. */
    [[nodiscard]] std::string_view text(const YamlNode &scalar) const
    {
        return std::string_view(text_).substr(scalar.value_.first, scalar.value_.count);
    }

    /** Of a sequence: its items. Of a mapping: a key, its value, the next key, and so on. Not in order of lines. */
    [[nodiscard]] static size_t size(const YamlNode &node) { return node.value_.count; }
    [[nodiscard]] const YamlNode &member(const YamlNode &node, size_t index) const
    {
        return nodes_[members_[node.value_.first + index]];
    }

private:
    friend class YamlBuilder;

    std::string text_; ///< of all scalars
    std::vector<YamlNode> nodes_;
    std::vector<std::uint32_t> members_;
    std::int64_t root_ = -1;
};

} // namespace ogh
