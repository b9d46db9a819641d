// SPDX-License-Identifier: Apache-2.0
#include "given.h"

#include "error.h"
#include "number.h"
#include "text.h"

namespace ogh::nvidia_devices {

Given joined(const Given &one, const Given &other)
{
    Given both = one;
    both.capabilities.all = one.capabilities.all || other.capabilities.all;
    both.capabilities.named.insert(other.capabilities.named.begin(), other.capabilities.named.end());
    both.minors.insert(other.minors.begin(), other.minors.end());
    return both;
}

std::string to_text(const Given &given)
{
    std::string minors;
    for (const unsigned minor : given.minors)
        minors += (minors.empty() ? "" : ",") + std::to_string(minor);
    return to_text(given.capabilities) + "\n" + minors + "\n";
}

std::optional<Given> parse_given(std::string_view text)
{
    const auto lines = split_list(text, '\n');
    if (lines.size() != 3)
        return std::nullopt;
    try {
        Given given{parse_capabilities({lines[0], "tree of an earlier request"})};
        for (const std::string &word : split_list(lines[1])) {
            if (const auto minor = parse_number(word))
                given.minors.insert(static_cast<unsigned>(*minor));
        }
        return given;
    } catch (const Error &) {
        return std::nullopt;
    }
}

} // namespace ogh::nvidia_devices
