// SPDX-License-Identifier: Apache-2.0
#include "yaml/plain_block.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/letters.h"

namespace ogh {

namespace {

/** As YAML's: of 1,024 characters, with what stands between the key and its colon. */
constexpr size_t longest_name = 1000;

constexpr bool is_printable(char c)
{
    return c >= ' ' && c <= '~';
}

/** A text that is read line by line, without recursion. */
class PlainBlock final {
public:
    PlainBlock(std::string_view text, YamlBuilder &builder) : text_(text), builder_(builder) {}

    bool read()
    {
        if (constexpr std::string_view start = "---\n"; text_.starts_with(start)) {
            position_ = start.size();
            ++line_;
        }
        for (; position_ < text_.size(); ++line_)
            if (!read_line())
                return false;
        if (is_value_due_)
            return false;
        while (!open_.empty())
            close();
        return true;
    }

private:
    struct Open {
        YamlNode::Type type;
        size_t column; ///< of its keys, or of the dashes before its items
    };

    [[nodiscard]] char at(size_t position) const { return position < text_.size() ? text_[position] : '\n'; }

    bool read_line()
    {
        const size_t begin = position_;
        while (at(position_) == ' ')
            ++position_;
        bool is_item = false;
        for (; at(position_) == '-' && at(position_ + 1) == ' '; position_ += 2) {
            if (!enter(YamlNode::Type::Sequence, position_ - begin))
                return false;
            is_value_due_ = is_item = true;
        }
        const auto key = key_here();
        if (key.empty())
            return is_item && read_value();
        if (!enter(YamlNode::Type::Mapping, position_ - begin))
            return false;
        builder_.add_scalar(key, true, line_);
        is_value_due_ = true;
        position_ += key.size() + 1;
        if (at(position_) == '\n')
            return end_line();
        while (at(position_) == ' ')
            ++position_;
        return read_value();
    }

    /** To the list or mapping that has something in this column of the line. */
    bool enter(YamlNode::Type type, size_t column)
    {
        const bool is_list = type == YamlNode::Type::Sequence;
        if (is_value_due_) {
            // The dashes of a list may stand right below the key that it belongs to.
            const bool is_inside = open_.empty() ? column == 0 && !is_list
                                                 : column > open_.back().column ||
                                                       (column == open_.back().column && is_list &&
                                                        open_.back().type == YamlNode::Type::Mapping);
            if (!is_inside)
                return false;
            builder_.open(type, line_);
            open_.push_back({type, column});
            is_value_due_ = false;
            return true;
        }
        while (open_.back().column > column)
            close();
        if (open_.back().type != type && !is_list && open_.size() > 1)
            close();
        return open_.back().type == type && open_.back().column == column;
    }

    void close()
    {
        builder_.close(line_);
        open_.pop_back();
    }

    /** With a colon behind it that makes it one; "" if there is none. */
    [[nodiscard]] std::string_view key_here() const
    {
        const auto rest = text_.substr(position_, longest_name);
        const auto *const end = std::find_if_not(rest.begin(), rest.end(), [](char c) {
            return is_letter_or_digit(c) || c == '.' || c == '/' || c == '_' || c == '-';
        });
        const auto length = static_cast<size_t>(end - rest.begin());
        const char next = at(position_ + length + 1);
        const bool is_key = length > 0 && is_letter_or_digit(rest.front()) && at(position_ + length) == ':' &&
                            (next == ' ' || next == '\n');
        return is_key ? rest.substr(0, length) : "";
    }

    /** The rest of a line. */
    bool read_value()
    {
        const char first = at(position_);
        const bool is_quoted = first == '"' || first == '\'';
        const auto value = is_quoted ? quoted(first) : plain();
        if (!value)
            return false;
        builder_.add_scalar(*value, !is_quoted, line_);
        is_value_due_ = false;
        return end_line();
    }

    bool end_line()
    {
        if (at(position_) != '\n')
            return false;
        position_ = std::min(position_ + 1, text_.size());
        return true;
    }

    /** A text in which nothing is escaped, and its quotes. */
    std::optional<std::string_view> quoted(char quote)
    {
        const size_t begin = ++position_;
        while (is_printable(at(position_)) && at(position_) != quote && at(position_) != '\\')
            ++position_;
        if (at(position_) != quote)
            return std::nullopt;
        return text_.substr(begin, position_++ - begin);
    }

    /** A text without quotes, which has nothing that could be the sign of something else. */
    std::optional<std::string_view> plain()
    {
        const size_t begin = position_;
        const char first = at(begin) == '-' ? at(begin + 1) : at(begin);
        if (!is_letter_or_digit(first) && first != '/' && first != '.' && first != '-')
            return std::nullopt;
        for (; is_printable(at(position_)); ++position_) {
            const char next = at(position_ + 1);
            const bool is_key = at(position_) == ':' && (next == ' ' || next == '\n');
            const bool is_end = at(position_) == ' ' && (next == '#' || next == '\n');
            if (is_key || is_end)
                return std::nullopt;
        }
        return text_.substr(begin, position_ - begin);
    }

    std::string_view text_;
    YamlBuilder &builder_;
    std::vector<Open> open_;
    bool is_value_due_ = true; ///< behind a key, a dash, and at the beginning
    size_t position_ = 0;
    size_t line_ = 1;
};

} // namespace

bool read_plain_block(std::string_view text, YamlBuilder &builder)
{
    return PlainBlock(text, builder).read();
}

} // namespace ogh
