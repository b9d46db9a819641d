// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/command_line.h"

namespace ogh {

/** Rows that --list prints. */
struct ListingTable {
    /** A value; nullptr if it is not known. */
    using Cell = std::variant<std::nullptr_t, std::uint64_t, std::string>;

    std::string name;                         ///< of the rows, as a member of JSON: "gpus"
    std::vector<std::string> columns;         ///< in small letters
    std::vector<std::vector<Cell>> rows = {}; ///< a cell for each column
    bool drops_empty = false;                 ///< people do not see a column in which nothing stands
};

/** What --list prints of a host: a table for people, JSON for programs. */
struct HostListing : ListingTable {
    std::vector<std::pair<std::string, Cell>> facts = {}; ///< what is said of the host as a whole
    std::vector<ListingTable> further = {};               ///< one without rows is shown to programs alone
    std::string none = {}; ///< what people see where there are no rows, as it is printed
};

/** What people see of it: "-" if it is not known. */
std::string shown(const HostListing::Cell &cell);

/** A cell of a text that is not known if it is empty. */
HostListing::Cell known(std::string text);

enum class ListFormat { Table, Json, Tags, Status, Screen };

/** Which formats a hook has. */
enum class ListFormats { Common, OfGpus };

/** @param option as the command line has it. @param format says its value apart. @param list set where one is given */
void add_list_options(CommandLine &cli, const CommandLine::Option &option, const CommandLine::Option &format,
                      ListFormats formats, std::optional<ListFormat> &list);

/** The text to print, JSON or else a table, with a newline at its end. */
std::string to_text(const HostListing &listing, ListFormat format);

} // namespace ogh
