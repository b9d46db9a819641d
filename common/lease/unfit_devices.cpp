// SPDX-License-Identifier: Apache-2.0
#include "lease/unfit_devices.h"

namespace ogh {

std::string unfit_text(const std::vector<LeaseKey> &devices, const UnfitDevices &unfit,
                       const NameDevice &name)
{
    std::string text;
    for (const LeaseKey &key : devices) {
        if (const auto found = unfit.find(key); found != unfit.end())
            text += (text.empty() ? "" : "; ") + (name ? name(key) : key) + " " + found->second;
    }
    return text;
}

void leave_out(const UnfitDevices &unfit, Demand &demand, const NameDevice &name)
{
    if (unfit.empty())
        return;
    std::string why = unfit_text(demand.fixed, unfit, name);
    const bool lacks_fixed = !why.empty();
    if (!lacks_fixed)
        why = unfit_text(demand.candidates, unfit, name);
    std::erase_if(demand.candidates, [&](const LeaseKey &key) { return unfit.contains(key); });
    if (lacks_fixed || (!why.empty() && demand.candidates.size() < demand.any))
        throw Error(ErrorKind::NotAvailable,
                    "while the container waited, this host has lost what it waited for: " + why);
}

} // namespace ogh
