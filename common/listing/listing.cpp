// SPDX-License-Identifier: Apache-2.0
#include "listing/listing.h"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

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

std::string shown(const HostListing::Cell &cell)
{
    if (const auto *const text = std::get_if<std::string>(&cell))
        return *text;
    if (const auto *const number = std::get_if<std::uint64_t>(&cell))
        return std::to_string(*number);
    return "-";
}

std::string in_capitals(std::string text)
{
    const auto capital = [](char letter) {
        return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    };
    std::transform(text.begin(), text.end(), text.begin(), capital);
    return text;
}

std::string as_table(const std::vector<std::string> &columns,
                     const std::vector<std::vector<HostListing::Cell>> &rows, size_t most)
{
    Table table(1);
    for (const std::string &column : columns)
        table.front().push_back(in_capitals(column));
    for (const auto &row : rows) {
        auto &line = table.emplace_back();
        std::transform(row.begin(), row.end(), std::back_inserter(line), shown);
    }
    return to_text(table, most);
}

bool is_empty(const HostListing::Cell &cell)
{
    const auto *const text = std::get_if<std::string>(&cell);
    return std::holds_alternative<std::nullptr_t>(cell) || (text != nullptr && text->empty());
}

/** Without the columns in which nothing stands. */
HostListing::Table without_empty(HostListing::Table table)
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

/** @param most how wide it may be; 0: as it is */
std::string as_table(const HostListing &listing, size_t most)
{
    Table facts;
    for (const auto &[name, value] : listing.facts)
        facts.push_back({name + ":", shown(value)});
    std::string text = to_text(facts, most) + (listing.rows.empty() && !listing.none.empty()
                                                   ? listing.none + "\n"
                                                   : as_table(listing.columns, listing.rows, most));
    for (const HostListing::Table &table : listing.further) {
        if (table.rows.empty())
            continue;
        const HostListing::Table shown_table = table.drops_empty ? without_empty(table) : table;
        text += "\n" + as_table(shown_table.columns, shown_table.rows, most);
    }
    return text;
}

ordered_json as_json(const std::vector<std::string> &columns,
                     const std::vector<std::vector<HostListing::Cell>> &rows)
{
    ordered_json array = ordered_json::array();
    for (const auto &row : rows) {
        ordered_json object = ordered_json::object();
        for (size_t i = 0; i < row.size(); ++i)
            object[columns.at(i)] = to_json(row[i]);
        array.push_back(std::move(object));
    }
    return array;
}

std::string as_json(const HostListing &listing)
{
    ordered_json document = ordered_json::object();
    for (const auto &[name, value] : listing.facts)
        document[name] = to_json(value);
    document[listing.name] = as_json(listing.columns, listing.rows);
    for (const HostListing::Table &table : listing.further)
        document[table.name] = as_json(table.columns, table.rows);
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

HostListing::Cell known(std::string text)
{
    return text.empty() ? HostListing::Cell(nullptr) : HostListing::Cell(std::move(text));
}

void add_list_options(CommandLine &cli, const CommandLine::Option &option, const CommandLine::Option &format,
                      ListFormats formats, std::optional<ListFormat> &list)
{
    const auto names = formats == ListFormats::OfGpus
                           ? std::vector<std::string_view>{"table", "screen", "json", "tags", "status"}
                           : std::vector<std::string_view>{"table", "screen", "json"};
    cli.add_choice(option, names, [&list](const std::string &name) {
        if (!name.empty() || !list)
            list = format_of(name);
    });
    cli.add_choice(format, names, [&list](const std::string &name) { list = format_of(name); });
}

std::string to_text(const HostListing &listing, ListFormat format)
{
    constexpr size_t screen = 80;
    return format == ListFormat::Json ? as_json(listing)
                                      : as_table(listing, format == ListFormat::Screen ? screen : 0);
}

} // namespace ogh
