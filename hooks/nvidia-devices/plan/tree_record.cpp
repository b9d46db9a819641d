// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/plan/tree_record.h"

#include <algorithm>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"

namespace ogh::nvidia_devices {

namespace {

/** In front of each capability that `all` was not to bring. */
constexpr char withheld_mark = '-';

} // namespace

TreeRecord joined(const TreeRecord &one, const TreeRecord &other)
{
    TreeRecord both = one;
    both.capabilities.all = one.capabilities.all || other.capabilities.all;
    // What one request was not handed out may be what the other was.
    if (other.capabilities.all && !one.capabilities.all)
        both.capabilities.withheld = other.capabilities.withheld;
    else if (other.capabilities.all)
        std::erase_if(both.capabilities.withheld, [&](Capability capability) {
            return !other.capabilities.withheld.contains(capability);
        });
    both.capabilities.named.insert(other.capabilities.named.begin(), other.capabilities.named.end());
    both.minors.insert(other.minors.begin(), other.minors.end());
    return both;
}

std::string to_text(const TreeRecord &record)
{
    std::string minors;
    for (const unsigned minor : record.minors)
        minors += (minors.empty() ? "" : ",") + std::to_string(minor);
    std::string capabilities = to_text(record.capabilities);
    for (const Capability capability : record.capabilities.withheld)
        (capabilities += withheld_mark) += name_of(capability);
    return capabilities + "\n" + minors + "\n";
}

std::optional<TreeRecord> parse_tree_record(std::string_view text)
{
    const auto lines = split_list(text, '\n');
    if (lines.size() != 3)
        return std::nullopt;
    try {
        const std::string origin = "tree of an earlier request";
        const size_t mark = lines[0].find(withheld_mark);
        TreeRecord record{parse_capabilities({lines[0].substr(0, mark), origin})};
        if (mark != std::string::npos) {
            std::string withheld = lines[0].substr(mark + 1);
            std::replace(withheld.begin(), withheld.end(), withheld_mark, ',');
            record.capabilities.withheld = parse_capabilities({withheld, origin}).named;
        }
        for (const std::string &word : split_list(lines[1])) {
            if (const auto minor = parse_number(word))
                record.minors.insert(static_cast<unsigned>(*minor));
        }
        return record;
    } catch (const Error &) {
        return std::nullopt; // another version of this hook has written it
    }
}

} // namespace ogh::nvidia_devices
