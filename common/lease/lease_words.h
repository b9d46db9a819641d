// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace ogh {

/** Whether the words of a line have names: those of version 2 of the lease file, NAME=VALUE. */
enum class LeaseWordStyle { Plain, Named };

/**
 * Writes a line of words, its end excepted. What is no printable ASCII in a text, and blank, comma and backslash, becomes
 * \xNN with lower-case digits. An empty text is "-", and "-" is \x2d.
 */
class LeaseLine final {
public:
    /** @param text to add to; outlives this object */
    LeaseLine(std::string &text, std::string_view kind, LeaseWordStyle style);

    void add(std::string_view name, std::string_view text);
    void add(std::string_view name, std::uint64_t number);

    /** In one word with commas; an empty one is "-". */
    void add(std::string_view name, const std::vector<std::string> &texts);

private:
    void begin(std::string_view name);

    std::string &text_;
    LeaseWordStyle style_;
};

/** How many bytes the text takes as a word, without the blank. */
size_t word_size(std::string_view text);

/** The longest beginning of the text that takes at most `most` bytes as a word; `most` is no less than 4. */
std::string_view beginning_of(std::string_view text, size_t most);

/** Whether that is the name of a field or of a kind of lines: lower-case letters, digits and hyphens. */
bool is_lease_name(std::string_view text);

/**
 * Reads one line of words that single blanks separate. What LeaseLine would have written otherwise is refused, so that
 * a value has one text only. All functions throw Error (BrokenHost), which names the line and `name`, of what is wrong.
 */
class LeaseWords final {
public:
    /** @param line without its end; @param line_number for messages, from 1 */
    LeaseWords(std::string_view line, size_t line_number, LeaseWordStyle style)
        : line_(line), left_(line), line_number_(line_number), style_(style)
    {
    }

    /** Whether a field of that name comes next: one that not every line has. Plain words have none of these. */
    [[nodiscard]] bool next_is(std::string_view name) const;

    [[nodiscard]] std::string_view word(const char *name);
    [[nodiscard]] std::uint64_t number(const char *name,
                                       std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
    [[nodiscard]] std::string text(const char *name);
    [[nodiscard]] std::vector<std::string> list(const char *name);

    /** The text that a word, or a part of one, stands for. */
    [[nodiscard]] std::string decoded(std::string_view word, const char *name) const;

    /** What is left of the line: of plain words nothing may be, named ones of other names are kept. */
    [[nodiscard]] std::string unknown() const;

    [[noreturn]] void refuse(const char *name) const;

private:
    std::string_view line_;
    std::string_view left_;
    size_t line_number_;
    LeaseWordStyle style_;
    bool is_at_end_ = false;
};

} // namespace ogh
