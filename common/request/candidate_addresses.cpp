// SPDX-License-Identifier: Apache-2.0
#include "request/candidate_addresses.h"

#include <algorithm>
#include <variant>

#include "request/availability.h"

namespace ogh {

std::set<PciAddress> addresses_meant(const Selectors &selectors, const std::vector<Candidate> &candidates,
                                     const SelectionPolicy &policy)
{
    const Availability availability(candidates, policy);
    const bool means_any = selectors.any != 0 && selectors.any_of.empty();
    const auto is_meant = [&](size_t i) {
        const Candidate &candidate = candidates[i];
        return ((selectors.all || selectors.allowed || means_any) && availability.is_common(i)) ||
               (selectors.any != 0 && has_name(candidate.groups, selectors.any_of)) ||
               std::any_of(selectors.named.begin(), selectors.named.end(), [&](const Selector &selector) {
                   return std::visit(SelectorMatcher{candidate, true}, selector.what);
               });
    };
    std::set<PciAddress> addresses;
    for (size_t i = 0; i < availability.size(); ++i) {
        if (availability.is_allowed(i) && availability.is_usable(i) && is_meant(i))
            addresses.insert(candidates[i].address);
    }
    return addresses;
}

std::set<PciAddress> addresses_of(const std::vector<Candidate> &candidates)
{
    std::set<PciAddress> addresses;
    for (const Candidate &candidate : candidates)
        addresses.insert(candidate.address);
    return addresses;
}

} // namespace ogh
