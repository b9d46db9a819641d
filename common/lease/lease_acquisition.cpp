// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_acquisition.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/duration.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/end_signals.h"
#include "lease/boot_clock.h"
#include "lease/busy_text.h"
#include "lease/grant_entry.h"
#include "lease/lease_changes.h"
#include "lease/lease_people.h"
#include "lease/lease_wake.h"
#include "lease/revocation.h"
#include "lease/unfit_devices.h"

namespace ogh {

namespace {

/** How often a request looks whether GPUs that somebody uses without a lease are empty now: nobody tells. */
constexpr std::int64_t look_again_ns = 5'000'000'000;

/** How long others stand back while a request that does not wait takes what an idle container has. */
constexpr std::int64_t preemption_limit_ns = 15'000'000'000;

constexpr std::int64_t most_idle_time_waited_for = 2'000'000'000;

bool has_something(const LeaseState &state, const ProcessId &init)
{
    return std::any_of(state.allocations.begin(), state.allocations.end(),
                       [&](const Allocation &allocation) { return allocation.holder.init == init; });
}

bool is_in(const LeaseState &state, std::uint64_t number)
{
    return std::any_of(state.tickets.begin(), state.tickets.end(),
                       [&](const Ticket &ticket) { return ticket.number == number; });
}

} // namespace

LeaseAcquisition::LeaseAcquisition(std::shared_ptr<const LeaseStore> store, const LeaseRequest &request)
    : store_(std::move(store)), processes_(store_->processes()), request_(request),
      holder_(
          find_holder(processes_, request.init, request.container, request.program, request.cgroups_path)),
      asked_ns_(boottime_ns()), deadline_ns_(asked_ns_ + request.wait.count()), other_use_(request)
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
        give_up_taking(processes_, session.state());
        remove_ticket(session.state(), ticket_);
        session.save();
    } catch (...) { // NOLINT(bugprone-empty-catch): it goes with this process
    }
}

Lease LeaseAcquisition::take()
{
    other_use_.look(processes_);
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
            leave_out(unfit_, further_.demand, request_.name_device);
            Ticket again = ticket(boottime_ns());
            again.hook = processes_.own_id();
            again.number = number;
            again.until = unix_time_at(again.deadline_ns);
            lease.exchange_for(std::move(again));
            ticket_ = number;
            continue;
        }
        if (attempt.is_outdated || (!attempt.takeover.steps.empty() && carry_out(attempt)))
            continue;
        if (!attempt.may_wait)
            throw Error(ErrorKind::Busy, attempt.busy + waited_text() + scope_text());
        wait_for(attempt);
        other_use_.look(processes_);
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
    const std::string text = unfit_text(devices, unfit_, request_.name_device);
    if (!text.empty())
        say({{LogLevel::Warning, "passed by: " + text}});
    return text.empty();
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
    const std::string &scope = store_->scope();
    return scope.empty() ? "" : "; leases here bind " + scope + " alone";
}

LeaseAcquisition::Attempt LeaseAcquisition::try_now()
{
    LeaseStore::Session session = store_->open();
    const std::int64_t now = boottime_ns();
    for (const auto &[init, why] : preempted_)
        session.explain_end(init, why);
    prepare(session, now);
    const EmptyPart empty = other_use_.empty_part(further_.demand);
    const Claim claim{holder_.first.init, empty.is_enough ? empty.demand : further_.demand, ticket_,
                      other_use_.gpus()};
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
        attempt.notes = other_use_.notes(session.state(), decision, further_.demand);
        Ticket request = ticket(now);
        request.number = ticket_;
        attempt.grant =
            enter_grant(processes_, session.state(), request_, further_, request, *decision.granted, now);
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
        add_grant(*history, request_, request_.demand.mode == LeaseMode::Exclusive ? "exclusive" : "shared",
                  attempt.grant.added, now - asked_ns_);
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
    settle_takeovers(session);
    drop_missing_holders(processes_, state, request_.demand);
    if (ticket_ == 0) // those who wait behind others look at these alone
        drop_missing_tickets(state, request_.demand);
    further_ = beside_earlier(state, holder_.first.init, request_);
    leave_out(unfit_, further_.demand, request_.name_device);
    other_use_.compare(processes_, state);
}

/** What is taken away here is given, to this request or an earlier one, with the same write of the state. */
void LeaseAcquisition::settle_takeovers(LeaseStore::Session &session)
{
    for (const Settled &each : settle(processes_, session.state())) {
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
                                                    const EmptyPart &empty, Present present, std::int64_t now)
{
    const Claim claim{holder_.first.init, empty.is_enough ? empty.demand : further_.demand, ticket_};
    Attempt attempt;
    attempt.may_wait =
        !decision.is_hopeless && !has_something(state, holder_.first.init) && now < deadline_ns_;
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
    if (!empty.used.empty())
        attempt.busy = decision.granted
                           ? "not as many GPUs are empty as are asked for (--only-empty): " + empty.used
                           : attempt.busy + "; and not empty (--only-empty): " + empty.used;
    if (!empty.used.empty() && is_first)
        attempt.sleep_end.at_ns = std::min(attempt.sleep_end.at_ns, now + look_again_ns);
    const bool preempts = !attempt.takeover.steps.empty() || attempt.is_brief;
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
    Takeables takeables =
        look_for_takeables(processes_, state, holders, request_.preemption, attempt.sleep_end, now);
    if (!attempt.may_wait) {
        attempt.busy = busy_text(state, all, claim.demand, request_.name_device, takeables);
        std::erase_if(takeables, [](const auto &each) { return each.second.why == TakeReason::HeldTooLong; });
    }
    if (is_first)
        plan_to_take(state, claim, std::move(takeables), now, attempt);
}

void LeaseAcquisition::plan_to_take(LeaseState &state, const Claim &claim, Takeables takeables,
                                    std::int64_t now, Attempt &attempt) const
{
    attempt.takeover = plan_takeover(state, claim, takeables, now);
    std::int64_t &wake_ns = attempt.sleep_end.at_ns;
    wake_ns = std::min(wake_ns, attempt.takeover.look_again.value_or(wake_ns));
    if (!attempt.takeover.steps.empty())
        return note_steps(state, attempt.takeover, processes_.own_id(), now);
    // Who may not wait is not refused for one that has only just been seen to be idle.
    const std::int64_t soon =
        now + std::min(request_.preemption.idle_after.count(), most_idle_time_waited_for);
    std::erase_if(takeables, [](const auto &each) { return each.second.why != TakeReason::Idle; });
    if (attempt.may_wait || soon > asked_ns_ + 2 * most_idle_time_waited_for ||
        plan_takeover(state, claim, takeables, soon).steps.empty())
        return;
    attempt.may_wait = attempt.is_brief = true;
    wake_ns = attempt.takeover.look_again.value_or(soon);
}

Ticket LeaseAcquisition::ticket(std::int64_t now) const
{
    return {0, {}, holder_.first, further_.demand, std::max(now, deadline_ns_), unix_time()};
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
    for (const TakeStep &step : attempt.takeover.steps) {
        if (step.is_left_alive)
            continue; // by the next look at the state, as settle_takeovers() has it
        Preemption result = preempt(processes_, step);
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

} // namespace ogh
