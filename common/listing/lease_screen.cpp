// SPDX-License-Identifier: Apache-2.0
#include "listing/lease_screen.h"

#include <algorithm>
#include <string_view>

#include "base/table.h"

namespace ogh {

namespace {

using Cell = HostListing::Cell;

/** One row with the names of its columns. */
class Row final {
public:
    Row(const std::vector<std::string> &columns, const std::vector<Cell> &cells)
        : columns_(columns), cells_(cells)
    {
    }

    /** "" if there is none. */
    [[nodiscard]] std::string text(std::string_view column) const
    {
        const auto found = std::find(columns_.begin(), columns_.end(), column);
        if (found == columns_.end())
            return "";
        const Cell &cell = cells_.at(static_cast<size_t>(found - columns_.begin()));
        if (const auto *const number = std::get_if<std::uint64_t>(&cell))
            return std::to_string(*number);
        const auto *const text = std::get_if<std::string>(&cell);
        return text == nullptr ? "" : *text;
    }

private:
    const std::vector<std::string> &columns_;
    const std::vector<Cell> &cells_;
};

/** @param end how many bytes of its end stay, of a text that is too long */
std::string clipped(std::string text, size_t most, size_t end = 0)
{
    std::replace_if(
        text.begin(), text.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
    if (text.size() > most)
        text.replace(most - 1 - end, text.size() - most + 1, "~");
    return text;
}

/** "11-22 21:09" of "2026-11-22T21:09:15Z". */
std::string minute(const std::string &time)
{
    constexpr size_t begin = 5;
    constexpr size_t day_end = 10;
    constexpr size_t end = 16;
    return time.size() < end
               ? ""
               : time.substr(begin, day_end - begin) + " " + time.substr(day_end + 1, end - day_end - 1);
}

std::string state_of(const Row &row)
{
    if (row.text("place").empty())
        return row.text("state");
    return "#" + row.text("place") + " to " + minute(row.text("deadline")).substr(6);
}

std::vector<Cell> gpu_of(const Row &row)
{
    constexpr size_t state = 38;
    return {row.text("index").empty() ? Cell(nullptr) : Cell(row.text("index")), row.text("address"),
            clipped(row.text("lease"), 18), clipped(row.text("state"), state)};
}

std::string short_lease(const std::string &lease)
{
    return lease == "exclusive" ? "excl" : lease == "observer" ? "none" : lease;
}

std::vector<Cell> lease_of(const Row &row)
{
    constexpr size_t end = 10; // a step of a build is told from the others by its number alone
    const std::string name =
        row.text("name").empty() ? short_container(row.text("container")) : row.text("name");
    const std::string asker = row.text("asker");
    const bool has_user = !asker.starts_with("key:") && !row.text("user").empty();
    return {known(clipped(name, 18, end)), known(clipped(has_user ? row.text("user") : asker, 12)),
            clipped(row.text("gpus"), 9),  clipped(short_lease(row.text("lease")), 6),
            minute(row.text("since")),     clipped(state_of(row), 13)};
}

std::vector<Cell> drain_of(const Row &row)
{
    return {clipped(row.text("gpu"), 12), minute(row.text("since")), known(minute(row.text("until"))),
            clipped(row.text("reason"), 38)};
}

HostListing::Table table_of(const HostListing::Table &table, std::vector<std::string> columns,
                            std::vector<Cell> (*make)(const Row &))
{
    HostListing::Table made{table.name, std::move(columns), {}, table.drops_empty};
    for (const auto &row : table.rows)
        made.rows.push_back(make(Row(table.columns, row)));
    return made;
}

} // namespace

HostListing screen_of(const HostListing &listing)
{
    constexpr size_t fact = 60;
    const HostListing::Table gpus = table_of({listing.name, listing.columns, listing.rows},
                                             {"index", "address", "lease", "state"}, gpu_of);
    HostListing screen{gpus.name, {}, gpus.columns, gpus.rows};
    screen.none = listing.none;
    for (const auto &[name, value] : listing.facts) {
        const auto *const text = std::get_if<std::string>(&value);
        screen.facts.emplace_back(name, text == nullptr ? value : Cell(clipped(*text, fact)));
    }
    for (const HostListing::Table &table : listing.further) {
        if (table.name == "leases")
            screen.further.push_back(
                table_of(table, {"container", "who", "gpus", "lease", "since", "state"}, lease_of));
        else if (table.name == "drains")
            screen.further.push_back(table_of(table, {"gpu", "since", "until", "reason"}, drain_of));
    }
    return screen;
}

} // namespace ogh
