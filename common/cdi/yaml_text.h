// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ogh::cdi {

/** A value of YAML: what a scalar stands for is for the caller to say. */
struct YamlNode {
    enum class Type : std::uint8_t { Scalar, Sequence, Mapping };

    Type type = Type::Scalar;
    bool plain = false; ///< a scalar without quotes, which may stand for a number and the like
    size_t line = 0;    ///< where it begins; the first is 1
    std::string text;   ///< of a scalar; it may contain NUL
    std::vector<YamlNode>
        members{}; ///< of a sequence its items; of a mapping a key, its value, the next key, and so on
};

/**
 * The first document of a text in YAML 1.1, as libyaml reads it; nothing if there is none. Aliases are refused, by which a
 * small text can stand for an endless one, and tags: no program writes either into a specification.
 * @throws Error (BrokenHost) if it is no YAML, has one of these, is nested deeper than 64 levels, or has over a million values
 */
std::optional<YamlNode> read_yaml(std::string_view text);

} // namespace ogh::cdi
