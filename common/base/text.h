// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace ogh {

/** The permissions of a file as chmod(1) takes them: "0660". */
std::string mode_text(mode_t mode);

/**
 * Text from outside, made safe for one line of a log: in single quotes, with quotes, backslashes, and what printable()
 * escapes, escaped, and cut after `limit` bytes.
 */
std::string quote(std::string_view text, size_t limit = 4096);

/** Every item quoted, separated by ", "; never shortened as a list, so that it can be pasted back. */
std::string quote_list(const std::vector<std::string> &items);

/**
 * The same text for one line of a terminal: what would move its cursor, end the line, or hide or reorder what stands
 * beside it (control and format characters, line and paragraph separators), and bytes that are not UTF-8, become \xNN.
 * The result stays as it is if it is given once more.
 */
std::string printable(std::string_view text);

/** The same text as valid UTF-8: a byte that is part of no valid sequence becomes \xNN. */
std::string as_utf8(std::string_view text);

/** Splits at `separator` and takes blanks from both ends of each part; an empty text is one empty part. */
std::vector<std::string> split_list(std::string_view text, char separator = ',');

/** The same without copies: as long as `text` lasts. */
std::vector<std::string_view> split_views(std::string_view text, char separator = ',');

/** What stands before the next `separator`, which is taken away from `text` with it; all of it if there is none. */
std::string_view next_part(std::string_view &text, char separator);

/** The other way around: "a,b". */
std::string list_text(const std::vector<std::string> &parts);

/** Without blanks and tabs at both ends. */
std::string_view trimmed(std::string_view text);

/** The same texts in the same order, without those that have been there before. */
std::vector<std::string> without_repeats(const std::vector<std::string> &texts);

} // namespace ogh
