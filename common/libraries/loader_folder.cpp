// SPDX-License-Identifier: Apache-2.0
#include "libraries/loader_folder.h"

namespace ogh {

bool can_be_in_loader_files(std::string_view folder)
{
    constexpr std::string_view separators = ":;\n\t\v\f\r =#";
    return folder.find_first_of(separators) == std::string_view::npos;
}

} // namespace ogh
