// SPDX-License-Identifier: Apache-2.0
#include "yaml/plain_json.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/letters.h"

namespace ogh {

namespace {

/** YAML has a limit for the length of a key, of 1,024 characters with its quotes and what stands behind them. */
constexpr size_t longest_key = 1000;

/** What may stand in a string as it is. No function: this is asked for each character of a file. */
constexpr auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };

/** A text that is read from its beginning to its end, without recursion. */
class PlainJson final {
public:
    PlainJson(std::string_view text, YamlBuilder &builder) : text_(text), builder_(builder) {}

    bool read()
    {
        if (!at('{'))
            return false;
        open();
        for (bool is_first = true; !closing_.empty();) {
            skip_blanks();
            if (!is_first || !at(closing_.back())) {
                if (closing_.back() == '}' && !read_key())
                    return false;
                if (at('{') || at('[')) {
                    open();
                    is_first = true;
                    continue;
                }
                if (!read_scalar())
                    return false;
            }
            if (!end_values())
                return false;
            is_first = false;
        }
        return position_ == text_.size();
    }

private:
    [[nodiscard]] bool at(char c) const { return position_ < text_.size() && text_[position_] == c; }

    void skip_blanks()
    {
        for (; position_ < text_.size(); ++position_) {
            const char c = text_[position_];
            if (c == '\n')
                ++line_;
            else if (c != ' ' && c != '\t')
                return;
        }
    }

    void open()
    {
        const bool is_mapping = text_[position_++] == '{';
        builder_.open(is_mapping ? YamlNode::Type::Mapping : YamlNode::Type::Sequence, line_);
        closing_.push_back(is_mapping ? '}' : ']');
    }

    /** Behind a value: to the next one, or to the end of all. */
    bool end_values()
    {
        while (true) {
            skip_blanks();
            if (closing_.empty())
                return true;
            if (at(',')) {
                ++position_;
                return true;
            }
            if (!at(closing_.back()))
                return false;
            ++position_;
            closing_.pop_back();
            builder_.close(line_);
        }
    }

    /** With its colon, and what is blank behind it. */
    bool read_key()
    {
        const size_t begin = position_;
        if (!read_string() || position_ - begin > longest_key)
            return false;
        if (!at(':')) // in YAML it may be elsewhere too, within the same line
            return false;
        ++position_;
        skip_blanks();
        return true;
    }

    bool read_scalar() { return at('"') ? read_string() : read_word(); }

    bool read_string()
    {
        if (!at('"'))
            return false;
        const size_t begin = ++position_;
        position_ = end_of(begin);
        if (at('\\'))
            return read_escaped(begin);
        if (!at('"'))
            return false;
        builder_.add_scalar(text_.substr(begin, position_ - begin), false, line_);
        ++position_;
        return true;
    }

    /** Of what stands in a string as it is. */
    [[nodiscard]] size_t end_of(size_t begin) const
    {
        const auto rest = text_.substr(begin);
        return begin +
               static_cast<size_t>(std::find_if_not(rest.begin(), rest.end(), is_plain) - rest.begin());
    }

    /** A string in which something is escaped. */
    bool read_escaped(size_t begin)
    {
        std::string text(text_.substr(begin, position_ - begin));
        while (at('\\')) {
            const char escaped = position_ + 1 < text_.size() ? text_[position_ + 1] : '\0';
            if (escaped != '"' && escaped != '\\' && escaped != '/')
                return false;
            begin = position_ + 2;
            position_ = end_of(begin);
            text += escaped;
            text += text_.substr(begin, position_ - begin);
        }
        if (!at('"'))
            return false;
        builder_.add_scalar(text, false, line_);
        ++position_;
        return true;
    }

    /** A number, or one of three words; what follows it is for the caller to look at. */
    bool read_word()
    {
        const auto rest = text_.substr(position_);
        const auto is_of_number = [](char c) {
            return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
        };
        size_t length = 0;
        for (const std::string_view word : {"true", "false", "null"})
            if (rest.starts_with(word))
                length = word.size();
        const bool is_number =
            !rest.empty() && (is_digit(rest[0]) || (rest[0] == '-' && rest.size() > 1 && is_digit(rest[1])));
        if (is_number)
            length =
                static_cast<size_t>(std::find_if_not(rest.begin(), rest.end(), is_of_number) - rest.begin());
        if (length == 0)
            return false;
        builder_.add_scalar(rest.substr(0, length), true, line_);
        position_ += length;
        return true;
    }

    std::string_view text_;
    YamlBuilder &builder_;
    std::string closing_; ///< what ends each that is open
    size_t position_ = 0;
    size_t line_ = 1;
};

} // namespace

bool read_plain_json(std::string_view text, YamlBuilder &builder)
{
    return PlainJson(text, builder).read();
}

} // namespace ogh
