// SPDX-License-Identifier: Apache-2.0
#include "base/table.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace ogh {

namespace {

constexpr size_t gap = 2;

/** In UTF-8. */
bool begins_character(char byte)
{
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

/** How many characters; a terminal is taken to give each one column. */
size_t width_of(std::string_view utf8)
{
    return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), begins_character));
}

} // namespace

std::string to_text(const Table &table)
{
    Table cells;
    std::vector<size_t> widths;
    for (const auto &row : table) {
        auto &line = cells.emplace_back();
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); ++i) {
            line.push_back(printable(row[i]));
            widths[i] = std::max(widths[i], width_of(line[i]));
        }
    }
    std::string text;
    for (const auto &row : cells) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i)
            line += row[i] + std::string(widths[i] - width_of(row[i]) + gap, ' ');
        line.erase(line.find_last_not_of(' ') + 1); // npos + 1 is 0
        text += line + "\n";
    }
    return text;
}

std::string short_container(std::string_view id)
{
    constexpr size_t most = 64;
    constexpr size_t shown = 12;
    const bool is_made_up =
        id.size() == most && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    return std::string(id.substr(0, is_made_up ? shown : most));
}

} // namespace ogh
