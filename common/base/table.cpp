// SPDX-License-Identifier: Apache-2.0
#include "base/table.h"

#include <algorithm>
#include <numeric>
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

void cut(std::string &utf8, size_t width)
{
    if (width_of(utf8) <= width)
        return;
    size_t end = 0;
    for (size_t count = 0; count < width; ++end)
        count += begins_character(utf8[end]) ? 1U : 0U;
    utf8.replace(end - 1, std::string::npos, "~");
}

/** The widest give way first. */
void narrow(std::vector<size_t> &widths, size_t most)
{
    constexpr size_t least = 2;
    for (;;) {
        const auto widest = std::max_element(widths.begin(), widths.end());
        if (widest == widths.end() || *widest <= least ||
            std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1)) <= most)
            return;
        --*widest;
    }
}

} // namespace

std::string to_text(const Table &table, size_t most)
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
    if (most != 0)
        narrow(widths, most);
    std::string text;
    for (auto &row : cells) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i) {
            cut(row[i], widths[i]);
            line += row[i] + std::string(widths[i] - width_of(row[i]) + gap, ' ');
        }
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
