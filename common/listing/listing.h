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

/** What --list prints of a host: a table for people, JSON for programs. */
struct HostListing {
    /** A value; nullptr if it is not known. */
    using Cell = std::variant<std::nullptr_t, std::uint64_t, std::string>;

    struct Table {
        std::string name; ///< of the rows, as a member of JSON
        std::vector<std::string> columns;
        std::vector<std::vector<Cell>> rows;
        bool drops_empty = false; ///< people do not see a column in which nothing stands
    };

    std::string name;                                ///< of the rows, as a member of JSON: "gpus"
    std::vector<std::pair<std::string, Cell>> facts; ///< what is said of the host as a whole
    std::vector<std::string> columns;                ///< in small letters
    std::vector<std::vector<Cell>> rows;             ///< a cell for each column
    std::vector<Table> further = {};                 ///< a table without rows is shown to programs alone
    std::string none = {}; ///< what people see where there are no rows, as it is printed
};

/** A cell of a text that is not known if it is empty. */
HostListing::Cell known(std::string text);

enum class ListFormat { Table, Json, Tags, Status, Screen };

/** Which formats a hook has. */
enum class ListFormats { Common, OfGpus };

/** @param option as the command line has it. @param format says its value apart. @param list set where one is given */
void add_list_options(CommandLine &cli, const CommandLine::Option &option, const CommandLine::Option &format,
                      ListFormats formats, std::optional<ListFormat> &list);

/** The text to print as a table, which fits a screen of 80 columns or does not, or as JSON, with a newline at its end. */
std::string to_text(const HostListing &listing, ListFormat format);

} // namespace ogh
