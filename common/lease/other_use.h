// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include "lease/lease_request.h"
#include "lease/lease_rules.h"

namespace ogh {

/** What is left of a request that takes empty GPUs alone. */
struct EmptyPart {
    Demand demand;         ///< without candidates that are used
    std::string used = {}; ///< of what it names or could get: what is used, and by whom; "" if nothing is
    bool is_enough = true; ///< nothing that it names is used, and as many candidates are left as it wants
};

/** What one request makes of those who use GPUs without a lease. */
class OtherUse final {
public:
    explicit OtherUse(const LeaseRequest &request) : request_(request) {}

    /** Finds out who uses which, if the request asks for it: that takes its time. @throws Error (NotAvailable) where that has to be known, and is not */
    void look(const Processes &processes);

    /** Compares that with who has a lease now. */
    void compare(const Processes &processes, const LeaseState &state);

    /** As of compare(); all of it, if the request takes GPUs that are used as well. */
    [[nodiscard]] EmptyPart empty_part(const Demand &demand) const;

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
