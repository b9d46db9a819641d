// SPDX-License-Identifier: Apache-2.0
#include "listing/listing.h"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/letters.h"
#include "base/table.h"
#include "base/text.h"

namespace ogh {

namespace {

using nlohmann::ordered_json;

ordered_json to_json(const HostListing::Cell &cell)
{
    if (const auto *const text = std::get_if<std::string>(&cell))
        return as_utf8(*text);
    if (const auto *const number = std::get_if<std::uint64_t>(&cell))
        return *number;
    return nullptr;
}

std::string in_capitals(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(), to_upper);
    return text;
}

std::string rows_text(const ListingTable &listed)
{
    Table table(1);
    for (const std::string &column : listed.columns)
        table.front().push_back(in_capitals(column));
    for (const auto &row : listed.rows) {
        auto &line = table.emplace_back();
        std::transform(row.begin(), row.end(), std::back_inserter(line), shown);
    }
    return to_text(table);
}

bool is_empty(const HostListing::Cell &cell)
{
    const auto *const text = std::get_if<std::string>(&cell);
    return std::holds_alternative<std::nullptr_t>(cell) || (text != nullptr && text->empty());
}

/** Without the columns in which nothing stands. */
ListingTable without_empty(ListingTable table)
{
    for (size_t column = table.columns.size(); column-- > 0;) {
        const auto place = static_cast<std::ptrdiff_t>(column);
        if (!std::all_of(table.rows.begin(), table.rows.end(),
                         [&](const auto &row) { return is_empty(row[column]); }))
            continue;
        table.columns.erase(table.columns.begin() + place);
        for (auto &row : table.rows)
            row.erase(row.begin() + place);
    }
    return table;
}

std::string as_table(const HostListing &listing)
{
    Table facts;
    for (const auto &[name, value] : listing.facts)
        facts.push_back({name + ":", shown(value)});
    std::string text = to_text(facts) + (listing.rows.empty() && !listing.none.empty() ? listing.none + "\n"
                                                                                       : rows_text(listing));
    for (const ListingTable &table : listing.further) {
        if (!table.rows.empty())
            text += "\n" + rows_text(table.drops_empty ? without_empty(table) : table);
    }
    return text;
}

ordered_json rows_json(const ListingTable &table)
{
    ordered_json array = ordered_json::array();
    for (const auto &row : table.rows) {
        ordered_json object = ordered_json::object();
        for (size_t i = 0; i < row.size(); ++i)
            object[table.columns.at(i)] = to_json(row[i]);
        array.push_back(std::move(object));
    }
    return array;
}

std::string as_json(const HostListing &listing)
{
    ordered_json document = ordered_json::object();
    for (const auto &[name, value] : listing.facts)
        document[name] = to_json(value);
    document[listing.name] = rows_json(listing);
    for (const ListingTable &table : listing.further)
        document[table.name] = rows_json(table);
    // ASCII alone: text of the host must not act on the terminal that shows it.
    return document.dump(2, ' ', true) + "\n";
}

ListFormat format_of(std::string_view name)
{
    return name == "json"     ? ListFormat::Json
           : name == "tags"   ? ListFormat::Tags
           : name == "status" ? ListFormat::Status
           : name == "screen" ? ListFormat::Screen
                              : ListFormat::Table;
}

} // namespace

std::string shown(const HostListing::Cell &cell)
{
    if (const auto *const text = std::get_if<std::string>(&cell))
        return *text;
    if (const auto *const number = std::get_if<std::uint64_t>(&cell))
        return std::to_string(*number);
    return "-";
}

HostListing::Cell known(std::string text)
{
    return text.empty() ? HostListing::Cell(nullptr) : HostListing::Cell(std::move(text));
}

void add_list_options(CommandLine &cli, const CommandLine::Option &option, const CommandLine::Option &format,
                      ListFormats formats, std::optional<ListFormat> &list)
{
    const auto names = formats == ListFormats::OfGpus
                           ? std::vector<std::string_view>{"table", "screen", "json", "tags", "status"}
                           : std::vector<std::string_view>{"table", "json"};
    cli.add_choice(option, names, [&list](const std::string &name) {
        if (!name.empty() || !list)
            list = format_of(name);
    });
    cli.add_choice(format, names, [&list](const std::string &name) { list = format_of(name); });
}

std::string to_text(const HostListing &listing, ListFormat format)
{
    return format == ListFormat::Json ? as_json(listing) : as_table(listing);
}

} // namespace ogh
