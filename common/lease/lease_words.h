// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace ogh {

/**
 * Adds a blank and the text as one word: what is no printable ASCII, and blank, comma and backslash, becomes \xNN with
 * lower-case digits. An empty text is "-", and "-" is \x2d.
 */
void add_word(std::string &line, std::string_view text);

void add_word(std::string &line, std::uint64_t number);

/** How many bytes the text takes as a word, without the blank. */
size_t word_size(std::string_view text);

/** The longest beginning of the text that takes at most `most` bytes as a word; `most` is no less than 4. */
std::string_view beginning_of(std::string_view text, size_t most);

/** The same for a list, in one word with commas; an empty one is "-". */
void add_list(std::string &line, const std::vector<std::string> &texts);

/**
 * Reads one line of words that single blanks separate. What add_word() would have written otherwise is refused, so that
 * a value has one text only. All functions throw Error (Host), which names the line and `name`, of what is wrong.
 */
class LeaseWords final {
public:
    /** @param line without its end; @param line_number for messages, from 1 */
    LeaseWords(std::string_view line, size_t line_number) : left_(line), line_number_(line_number) {}

    [[nodiscard]] std::string_view word(const char *name);
    [[nodiscard]] std::uint64_t number(const char *name,
                                       std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
    [[nodiscard]] std::string text(const char *name);
    [[nodiscard]] std::vector<std::string> list(const char *name);

    /** The text that a word, or a part of one, stands for. */
    [[nodiscard]] std::string decoded(std::string_view word, const char *name) const;

    /** Nothing may follow. */
    void end() const;

    [[noreturn]] void refuse(const char *name) const;

private:
    std::string_view left_;
    size_t line_number_;
    bool is_at_end_ = false;
};

} // namespace ogh
