// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/end_signals.h"
#include "lease/container_requests.h"
#include "lease/leases.h"
#include "lease/presence/eviction.h"
#include "lease/presence/presence.h"
#include "lease/rules/busy_text.h"
#include "lease/rules/lease_wake.h"
#include "lease/rules/preemption.h"
#include "lease/state/boot_clock.h"
#include "lease/state/lease_changes.h"
#include "lease/waiting/lease_store.h"
#include "lease/waiting/wait.h"

namespace ogh {

namespace {

/** How often a request looks whether GPUs that somebody uses without a lease are empty now: nobody tells. */
constexpr std::int64_t look_again_ns = 5'000'000'000;

/** How long others stand back while a request that does not wait takes what an idle container has. */
constexpr std::int64_t preemption_limit_ns = 15'000'000'000;

constexpr std::int64_t most_idle_time_waited_for = 2'000'000'000;

bool is_in(const LeaseState &state, std::uint64_t number)
{
    return std::any_of(state.tickets.begin(), state.tickets.end(),
                       [&](const Ticket &ticket) { return ticket.number == number; });
}

/** What is wrong with a device; nullptr: nothing. */
using FindProblem = std::function<const std::string *(const LeaseKey &)>;

/** What is left of a request without the devices with which something is wrong. */
struct FitPart {
    Demand demand;         ///< without such candidates
    std::string why = {};  ///< of what it names or could get: what is wrong with it; "" if nothing is
    bool is_enough = true; ///< it names nothing of that kind, and as many candidates are left as it wants
};

FitPart without(const Demand &demand, const FindProblem &find, const NameDevice &name)
{
    FitPart left{demand};
    const auto take_note = [&](const LeaseKey &key) {
        const std::string *const problem = find(key);
        if (problem != nullptr)
            left.why += (left.why.empty() ? "" : "; ") + name(key) + " " + *problem;
        return problem != nullptr;
    };
    const auto number = std::count_if(demand.fixed.begin(), demand.fixed.end(), take_note);
    std::erase_if(left.demand.candidates, take_note);
    left.is_enough = left.why.empty() || (number == 0 && left.demand.candidates.size() >= demand.any);
    return left;
}

const std::string *find_in(const DeviceProblems &problems, const LeaseKey &key)
{
    const auto found = problems.find(key);
    return found == problems.end() ? nullptr : &found->second;
}

/** One request on its way to its lease; its ticket goes with it. */
class LeaseAcquisition final {
public:
    /** @throws Error if the container has ended, or must not have such a lease. @param request outlives this */
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
        PreemptPlan preemption = {};
        SleepEnd sleep_end = {};  ///< if it waits
        std::uint64_t ticket = 0; ///< of this request, if it stands in the queue
        Notes notes = {};         ///< of what is granted
    };

    [[nodiscard]] std::string waited_text() const;
    [[nodiscard]] std::string scope_text() const;
    Attempt try_now();
    void prepare(LeaseStore::Session &session, std::int64_t now);
    void note_revocations(LeaseStore::Session &session);
    void look_for_users();
    [[nodiscard]] const std::string *use_of(const LeaseKey &key) const;
    [[nodiscard]] FitPart without_unfit(const Demand &demand) const;
    void leave_out_unfit();
    [[nodiscard]] FitPart empty_part() const;
    [[nodiscard]] Notes notes_of(const LeaseState &state, const Decision &decision) const;
    Attempt blocked(LeaseState &state, const Decision &decision, const FitPart &empty, Present present,
                    std::int64_t now);
    void look_at_holders(LeaseState &state, const Claim &claim, bool is_first, Present &present,
                         std::int64_t now, Attempt &attempt) const;
    [[nodiscard]] std::uint64_t enqueue(LeaseState &state, std::int64_t now, bool for_preemption);
    [[nodiscard]] Ticket ticket(std::int64_t now) const;
    void plan_to_preempt(LeaseState &state, const Claim &claim, Preemptibles preemptibles, std::int64_t now,
                         Attempt &attempt) const;
    [[nodiscard]] bool carry_out(Attempt &attempt);
    void wait_for(const Attempt &attempt);
    [[nodiscard]] bool is_fit(const std::vector<LeaseKey> &devices);
    void say(const Notes &notes) const;
    void say_whose(const LeaseState &state);

    const std::shared_ptr<const LeaseStore> store_;
    const Processes &processes_;
    const LeaseRequest &request_;
    const NameDevice name_device_; ///< for messages
    std::pair<Holder, UniqueFd> holder_;
    std::int64_t asked_ns_; ///< of CLOCK_BOOTTIME, as the next one
    std::int64_t deadline_ns_;
    KnownEnds preempted_;                  ///< by this request
    std::uint64_t takeovers_ = 0;          ///< the same, that are not counted in the state yet
    RemainingRequest remaining_;           ///< as of the last look at the state
    std::optional<Companions> companions_; ///< once it waits
    DeviceProblems unfit_;                 ///< as of the last wait
    GpuUsers users_;                       ///< the same: of all GPUs
    DeviceProblems used_;                  ///< of whole GPUs, by who has no lease of them now
    std::uint64_t ticket_ = 0;
    bool is_known_ = false; ///< say_whose() has been called
};

LeaseAcquisition::LeaseAcquisition(std::shared_ptr<const LeaseStore> store, const LeaseRequest &request)
    : store_(std::move(store)), processes_(store_->processes()), request_(request),
      name_device_(request.name_device ? request.name_device : [](const LeaseKey &key) { return key; }),
      holder_(
          find_holder(processes_, request.init, request.container, request.idle_init, request.cgroups_path)),
      asked_ns_(boottime_ns()), deadline_ns_(asked_ns_ + request.wait.count())
{
    const Holder &holder = holder_.first;
    if (request.demand.mode == LeaseMode::Exclusive && !holder.own_pid_namespace && !holder.cgroup)
        throw Error(
            ErrorKind::Denied,
            "an exclusive lease needs a container with a pid namespace or a cgroup of its own: without both "
            "it cannot be told when it has ended");
}

LeaseAcquisition::~LeaseAcquisition()
{
    if (ticket_ == 0)
        return;
    try {
        LeaseStore::Session session = store_->open(LeaseStore::patience_at_the_end);
        undo_revocations(processes_, session.state());
        remove_ticket(session.state(), ticket_);
        session.save();
    } catch (...) { // NOLINT(bugprone-empty-catch): it goes with this process
    }
}

Lease LeaseAcquisition::take()
{
    look_for_users();
    for (;;) {
        check_end_signals("taking a lease");  // ending others for it takes its time as well
        const std::uint64_t number = ticket_; // of who has waited
        Attempt attempt = try_now();
        if (attempt.granted) {
            Lease lease(store_, std::move(attempt.grant), std::move(*attempt.granted));
            if (number == 0 || is_fit(lease.devices())) {
                say(attempt.notes);
                return lease;
            }
            leave_out_unfit();
            Ticket again = ticket(boottime_ns());
            again.hook = processes_.own_id();
            again.number = number;
            again.until = unix_time_at(again.deadline_ns);
            lease.exchange_for(std::move(again));
            ticket_ = number;
            continue;
        }
        if (attempt.is_outdated || (!attempt.preemption.steps.empty() && carry_out(attempt)))
            continue;
        if (!attempt.may_wait)
            throw Error(ErrorKind::Busy, attempt.busy + waited_text() + scope_text());
        wait_for(attempt);
        look_for_users();
    }
}

void LeaseAcquisition::say(const Notes &notes) const
{
    if (request_.notes != nullptr)
        request_.notes->insert(request_.notes->end(), notes.begin(), notes.end());
}

/** What it has waited for may have changed since it was looked at. */
bool LeaseAcquisition::is_fit(const std::vector<LeaseKey> &devices)
{
    if (!request_.find_unfit)
        return true;
    unfit_ = request_.find_unfit();
    const std::string text = without_unfit({devices, 0, {}}).why;
    if (!text.empty())
        say({{LogLevel::Warning, "passed by: " + text}});
    return text.empty();
}

FitPart LeaseAcquisition::without_unfit(const Demand &demand) const
{
    return without(
        demand, [&](const LeaseKey &key) { return find_in(unfit_, key); }, name_device_);
}

/** @throws Error if it lacks something then: it would wait in vain */
void LeaseAcquisition::leave_out_unfit()
{
    FitPart left = without_unfit(remaining_.demand);
    if (!left.is_enough)
        throw Error(ErrorKind::NotAvailable,
                    "while the container waited, this host has lost what it waited for: " + left.why);
    remaining_.demand = std::move(left.demand);
}

/** Finds out who uses GPUs, if the request asks for it: that takes its time. @throws Error where that has to be known, and is not */
void LeaseAcquisition::look_for_users()
{
    if (!request_.find_users)
        return;
    const bool was_known = users_.unknown.empty();
    users_ = request_.find_users(processes_);
    if (users_.unknown.empty())
        return;
    if (request_.only_empty)
        throw Error(ErrorKind::NotAvailable,
                    "--only-empty gives GPUs that nobody uses, and who does is not known: " + users_.unknown);
    if (was_known)
        say({{LogLevel::Info, "who uses GPUs is not known: " + users_.unknown}});
}

/** By whom without a lease; nullptr: by nobody. */
const std::string *LeaseAcquisition::use_of(const LeaseKey &key) const
{
    return find_in(used_, std::string(gpu_of(key)));
}

/** All of it, if the request takes GPUs that are used as well. */
FitPart LeaseAcquisition::empty_part() const
{
    if (!request_.only_empty)
        return {remaining_.demand};
    return without(
        remaining_.demand, [&](const LeaseKey &key) { return use_of(key); }, name_device_);
}

/** What is to be said of what is granted. @param state before that */
Notes LeaseAcquisition::notes_of(const LeaseState &state, const Decision &decision) const
{
    Notes notes;
    for (const LeaseKey &key : decision.passed_by) {
        const std::string why = exits_early(state, key)
                                    ? "the last " + std::to_string(enough_early_exits) +
                                          " containers that had it ended within 10 seconds"
                                    : "it " + *use_of(key);
        notes.push_back({LogLevel::Warning, name_device_(key) + " is passed by: " + why});
    }
    // What is named is the container's wish, but where it is to be its own alone.
    const bool is_shared = remaining_.demand.mode != LeaseMode::Exclusive;
    const auto first = decision.granted->begin() +
                       static_cast<std::ptrdiff_t>(is_shared ? remaining_.demand.fixed.size() : 0);
    std::for_each(first, decision.granted->end(), [&](const LeaseKey &key) {
        if (const std::string *const use = use_of(key))
            notes.push_back({LogLevel::Warning, name_device_(key) + " is given, and " + *use});
    });
    return notes;
}

/** For who may ask for more time, or sees that it was given. */
std::string LeaseAcquisition::waited_text() const
{
    if (request_.wait.count() == 0)
        return "; it did not wait";
    constexpr std::int64_t second = 1'000'000'000;
    return "; it has waited " + to_text(std::chrono::seconds((boottime_ns() - asked_ns_) / second)) + " of " +
           to_text(std::chrono::duration_cast<std::chrono::seconds>(request_.wait));
}

/** For who looks for the holder elsewhere. */
std::string LeaseAcquisition::scope_text() const
{
    const std::string &scope = store_->directory().scope();
    return scope.empty() ? "" : "; leases here bind " + scope + " alone";
}

LeaseAcquisition::Attempt LeaseAcquisition::try_now()
{
    LeaseStore::Session session = store_->open();
    const std::int64_t now = boottime_ns();
    for (const auto &[init, why] : preempted_)
        session.explain_end(init, why);
    prepare(session, now);
    const FitPart empty = empty_part();
    Claim claim{holder_.first.init, empty.is_enough ? empty.demand : remaining_.demand, ticket_};
    for (const auto &[gpu, who] : used_)
        claim.in_use.insert(gpu);
    // Whoever is in nobody's way need not be looked at closely, which takes longest.
    session.note_ends();
    Present present;
    const auto note_ends = [&] {
        drop_missing_tickets(session.state(), request_.demand);
        session.note_ends();
    };
    const Decision decision = decide_by_present(processes_, session.state(), claim, now, present, note_ends);
    Attempt attempt;
    if (decision.granted && empty.is_enough) {
        attempt.notes = notes_of(session.state(), decision);
        Ticket request = ticket(now);
        request.number = ticket_;
        attempt.grant =
            enter_grant(processes_, session.state(), request_, remaining_, request, *decision.granted, now);
        attempt.granted = decision.granted;
    } else {
        attempt = blocked(session.state(), decision, empty, std::move(present), now);
    }
    session.state().counts.takeovers += std::exchange(takeovers_, 0);
    if (!attempt.grant.added.empty())
        session.state().counts.add_grant(now - asked_ns_);
    session.save();
    if (attempt.granted || attempt.ticket != 0)
        say_whose(session.state());
    if (History *const history = store_->history(); history != nullptr && !attempt.grant.added.empty())
        add_grant(*history, holder_.first, request_.label,
                  request_.demand.mode == LeaseMode::Exclusive ? "exclusive" : "shared", attempt.grant.added,
                  now - asked_ns_);
    ticket_ = attempt.ticket; // a number that was not saved may become that of another request
    return attempt;
}

/** Takes out of the state what does not count any more, and finds out what is left of the request. */
void LeaseAcquisition::prepare(LeaseStore::Session &session, std::int64_t now)
{
    LeaseState &state = session.state();
    expire(state, now);
    if (!is_in(state, ticket_))
        ticket_ = 0;
    note_revocations(session);
    drop_missing_holders(processes_, state, request_.demand);
    if (ticket_ == 0) // those who wait behind others look at these alone
        drop_missing_tickets(state, request_.demand);
    remaining_ = remaining_request(state, holder_.first.init, request_);
    leave_out_unfit();
    used_ = used_by_others(processes_, state, users_);
}

/** What is taken away here is given, to this request or an earlier one, with the same write of the state. */
void LeaseAcquisition::note_revocations(LeaseStore::Session &session)
{
    for (const Revocation &each : finish_revocations(processes_, session.state())) {
        if (!each.text.empty())
            say({{LogLevel::Warning, each.text}});
        if (!each.is_taken)
            continue;
        const std::string what = "taken away: " + idle_text(each.has_begun, each.idle_ns);
        session.explain_end(each.holder.init, what);
        std::string text = "the devices of the container ";
        text += quote(each.holder.container);
        text += " were " + what;
        say({{LogLevel::Warning, text}});
        ++session.state().counts.revocations;
    }
    if (History *const history = store_->history())
        add_late(*history, find_late(processes_, session.state()));
}

LeaseAcquisition::Attempt LeaseAcquisition::blocked(LeaseState &state, const Decision &decision,
                                                    const FitPart &empty, Present present, std::int64_t now)
{
    const Claim claim{holder_.first.init, empty.is_enough ? empty.demand : remaining_.demand, ticket_};
    Attempt attempt;
    attempt.may_wait = !decision.is_hopeless &&
                       find_allocation(state.allocations, holder_.first.init) == nullptr &&
                       now < deadline_ns_;
    attempt.sleep_end.at_ns = deadline_ns_;
    const bool is_first = !decision.is_hopeless && !decision.is_behind;
    if (is_first || !attempt.may_wait)
        // Nobody is ended for what would not be granted then either.
        look_at_holders(state, claim, is_first && empty.is_enough, present, now, attempt);
    if (attempt.is_outdated) {
        attempt.ticket = ticket_;
        return attempt;
    }
    // What is used is waited for as what is leased. Who stands behind others looks when it is the first.
    if (!empty.why.empty())
        attempt.busy = decision.granted
                           ? "not as many GPUs are empty as are asked for (--only-empty): " + empty.why
                           : attempt.busy + "; and not empty (--only-empty): " + empty.why;
    if (!empty.why.empty() && is_first)
        attempt.sleep_end.at_ns = std::min(attempt.sleep_end.at_ns, now + look_again_ns);
    const bool preempts = !attempt.preemption.steps.empty() || attempt.is_brief;
    attempt.ticket = ticket_ == 0 && (attempt.may_wait || preempts) ? enqueue(state, now, preempts) : ticket_;
    if (attempt.ticket != 0)
        watch(processes_, state, attempt.ticket, claim.demand, std::move(present), now, attempt.sleep_end);
    return attempt;
}

/** What those who have something may be ended for, and what is said of them: they are there. */
void LeaseAcquisition::look_at_holders(LeaseState &state, const Claim &claim, bool is_first, Present &present,
                                       std::int64_t now, Attempt &attempt) const
{
    const Decision all = decide(state, claim, now);
    attempt.is_outdated = drop_gone(processes_, state, {all.obstacles.holders}, present);
    if (attempt.is_outdated)
        return;
    const std::set<ProcessId> &holders = all.obstacles.holders;
    Preemptibles preemptibles =
        look_for_preemptible(processes_, state, holders, request_.preemption, attempt.sleep_end, now);
    if (!attempt.may_wait) {
        attempt.busy = busy_text(state, all, claim.demand, name_device_, preemptibles);
        std::erase_if(preemptibles,
                      [](const auto &each) { return each.second.why == PreemptReason::HeldTooLong; });
    }
    if (is_first)
        plan_to_preempt(state, claim, std::move(preemptibles), now, attempt);
}

void LeaseAcquisition::plan_to_preempt(LeaseState &state, const Claim &claim, Preemptibles preemptibles,
                                       std::int64_t now, Attempt &attempt) const
{
    attempt.preemption = plan_preemption(state, claim, preemptibles, now);
    std::int64_t &wake_ns = attempt.sleep_end.at_ns;
    wake_ns = std::min(wake_ns, attempt.preemption.look_again.value_or(wake_ns));
    if (!attempt.preemption.steps.empty())
        return note_steps(state, attempt.preemption, processes_.own_id(), now);
    // Who may not wait is not refused for one that has only just been seen to be idle.
    const std::int64_t soon =
        now + std::min(request_.preemption.idle_after.count(), most_idle_time_waited_for);
    std::erase_if(preemptibles, [](const auto &each) { return each.second.why != PreemptReason::Idle; });
    if (attempt.may_wait || soon > asked_ns_ + 2 * most_idle_time_waited_for ||
        plan_preemption(state, claim, preemptibles, soon).steps.empty())
        return;
    attempt.may_wait = attempt.is_brief = true;
    wake_ns = attempt.preemption.look_again.value_or(soon);
}

Ticket LeaseAcquisition::ticket(std::int64_t now) const
{
    return {0, {}, holder_.first, remaining_.demand, std::max(now, deadline_ns_), unix_time()};
}

std::uint64_t LeaseAcquisition::enqueue(LeaseState &state, std::int64_t now, bool for_preemption)
{
    accept_wakers();
    Ticket request = ticket(now);
    request.hook = processes_.own_id();
    if (for_preemption)
        request.deadline_ns = std::max(request.deadline_ns, now + preemption_limit_ns);
    request.until = unix_time_at(request.deadline_ns);
    return queue(state, std::move(request));
}

/** @return whether to look at the state again at once; else what to watch is added. */
bool LeaseAcquisition::carry_out(Attempt &attempt)
{
    bool have_ended = true;
    for (const PreemptStep &step : attempt.preemption.steps) {
        if (step.is_left_alive)
            continue; // by the next look at the state, as note_revocations() has it
        Eviction result = evict(processes_, step);
        if (result.has_ended || step.signal)
            say({{LogLevel::Warning, to_text(step)}});
        if (result.has_ended) {
            preempted_[step.holder.init] = "preempted: " + std::string(to_word(step.why));
            ++takeovers_;
        }
        if (result.busy_with.valid())
            attempt.sleep_end.watched.push_back(std::move(result.busy_with));
        if (!result.has_ended && !step.signal)
            return false;
        have_ended = have_ended && !step.signal;
    }
    return have_ended;
}

/** With the lock held, once. */
void LeaseAcquisition::say_whose(const LeaseState &state)
{
    if (!is_known_)
        try_to_note_people(store_->directory(), state, holder_.first.init, request_.label);
    is_known_ = true;
}

void LeaseAcquisition::wait_for(const Attempt &attempt)
{
    if (!companions_) {
        companions_ = companions(std::move(holder_.second), request_.runtime);
        ::malloc_trim(0); // of what a look at the state takes: hundreds may wait
    }
    sleep_until_one_ends(*companions_, attempt.sleep_end.watched, attempt.sleep_end.at_ns);
}

} // namespace

Lease Leases::take(const LeaseRequest &request)
{
    return LeaseAcquisition(store_, request).take();
}

} // namespace ogh
