// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include "lease/lease_request.h"
#include "lease/lease_rules.h"

namespace ogh {

/** What one request makes of those who use GPUs without a lease. */
class OtherUse final {
public:
    explicit OtherUse(const LeaseRequest &request) : request_(request) {}

    /** Finds out who uses which, if the request asks for it: that takes its time. @throws Error (NotAvailable) where that has to be known, and is not */
    void look(const Processes &processes);

    /** Compares that with who has a lease now; takes what is used out of what the request may get, if it takes nothing else. @throws Error (Busy) */
    void compare(const Processes &processes, const LeaseState &state, Demand &demand);

    /** Whole GPUs; as of compare(). */
    [[nodiscard]] std::set<LeaseKey> gpus() const;

    /** What is to be said of what is granted. @param state before that. @param demand as it was granted */
    [[nodiscard]] Notes notes(const LeaseState &state, const Decision &decision, const Demand &demand) const;

private:
    [[nodiscard]] std::string name(const LeaseKey &key) const;

    const LeaseRequest &request_;
    GpuUsers all_;
    UnfitDevices used_; ///< by whole GPUs
};

} // namespace ogh
