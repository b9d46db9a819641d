// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "lease/further_request.h"
#include "lease/lease.h"
#include "lease/lease_request.h"
#include "lease/other_use.h"
#include "lease/present_decision.h"
#include "lease/takeover.h"
#include "lease/wait.h"

namespace ogh {

/** One request on its way to its lease; its ticket goes with it. */
class LeaseAcquisition final {
public:
    /** @throws Error if the container has ended, or must not have such a lease */
    LeaseAcquisition(std::shared_ptr<const LeaseStore> store, const LeaseRequest &request);
    LeaseAcquisition(const LeaseAcquisition &) = delete;
    LeaseAcquisition &operator=(const LeaseAcquisition &) = delete;
    ~LeaseAcquisition();

    /** See Leases::take(). */
    Lease take();

private:
    /** What came of one look at the state. */
    struct Attempt {
        std::optional<std::vector<LeaseKey>> granted = {};
        Grant grant = {};
        std::string busy = {}; ///< what is in the way, for people, if it may not wait
        bool may_wait = false;
        bool is_brief = false;    ///< though it may not: for one that has only just become idle
        bool is_outdated = false; ///< somebody was found to have ended since the decision
        TakePlan takeover = {};
        SleepEnd sleep_end = {};  ///< if it waits
        std::uint64_t ticket = 0; ///< of this request, if it stands in the queue
        Notes notes = {};         ///< of what is granted
    };

    [[nodiscard]] std::string waited_text() const;
    [[nodiscard]] std::string scope_text() const;
    Attempt try_now();
    void prepare(LeaseStore::Session &session, std::int64_t now);
    void settle_takeovers(LeaseStore::Session &session);
    Attempt blocked(LeaseState &state, const Decision &decision, const EmptyPart &empty, Present present,
                    std::int64_t now);
    void look_at_holders(LeaseState &state, const Claim &claim, bool is_first, Present &present,
                         std::int64_t now, Attempt &attempt) const;
    [[nodiscard]] std::uint64_t enqueue(LeaseState &state, std::int64_t now, bool for_preemption);
    [[nodiscard]] Ticket ticket(std::int64_t now) const;
    void plan_to_take(LeaseState &state, const Claim &claim, Takeables takeables, std::int64_t now,
                      Attempt &attempt) const;
    [[nodiscard]] bool carry_out(Attempt &attempt);
    void wait_for(const Attempt &attempt);
    [[nodiscard]] bool is_fit(const std::vector<LeaseKey> &devices);
    void say(const Notes &notes) const;
    void say_whose(const LeaseState &state);

    const std::shared_ptr<const LeaseStore> store_;
    const Processes &processes_;
    const LeaseRequest &request_;
    std::pair<Holder, UniqueFd> holder_;
    std::int64_t asked_ns_; ///< of CLOCK_BOOTTIME, as the next one
    std::int64_t deadline_ns_;
    KnownEnds preempted_;                  ///< by this request
    std::uint64_t takeovers_ = 0;          ///< the same, that are not counted in the state yet
    FurtherRequest further_;               ///< as of the last look at the state
    std::optional<Companions> companions_; ///< once it waits
    UnfitDevices unfit_;                   ///< as of the last wait
    OtherUse other_use_;                   ///< the same
    std::uint64_t ticket_ = 0;
    bool is_known_ = false; ///< say_whose() has been called
};

} // namespace ogh
