// SPDX-License-Identifier: Apache-2.0
#include "nvidia/numbered_names.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "kernel/directory_entries.h"

namespace ogh {

namespace {

constexpr size_t max_names = 1024;

/** Nothing if the name is any other. */
std::optional<unsigned> number_in(std::string_view name, const NumberedNames &wanted)
{
    if (!name.starts_with(wanted.prefix))
        return std::nullopt;
    name.remove_prefix(wanted.prefix.size());
    const auto number = parse_small_number(name, wanted.limit);
    return number && (name.size() == 1 || name.front() != '0') ? number : std::nullopt;
}

} // namespace

std::vector<NumberedName> numbered_names(int directory, const NumberedNames &wanted)
{
    const auto is_wanted = [&](std::string_view name) { return number_in(name, wanted).has_value(); };
    std::vector<NumberedName> found;
    for (const auto &entry :
         list_directory(directory, {quote(wanted.directory), is_wanted, max_names, ErrorKind::BrokenHost}))
        found.push_back({*number_in(entry.name, wanted), entry.name});
    std::sort(found.begin(), found.end(),
              [](const NumberedName &a, const NumberedName &b) { return a.number < b.number; });
    return found;
}

} // namespace ogh
