// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_acquisition.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/contains.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/end_signals.h"
#include "lease/boot_clock.h"
#include "lease/busy_text.h"
#include "lease/container_cgroup.h"
#include "lease/lease_bounds.h"
#include "lease/lease_changes.h"
#include "lease/lease_neighbours.h"
#include "lease/lease_people.h"
#include "lease/lease_text.h"
#include "lease/lease_wake.h"
#include "lease/unfit_devices.h"

namespace ogh {

namespace {

/** How long others stand back while a request that does not wait ends an idle container. */
constexpr std::int64_t preemption_limit_ns = 15'000'000'000;

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

/**
 * Those by whom the decision stands or falls: of one that grants also those who decide whether somebody who came earlier
 * waits for a quota. They are on other devices too.
 */
Obstacles all_that_count(const LeaseState &state, const Decision &decision)
{
    Obstacles all = decision.obstacles;
    all.add(with_quotas(state, decision.depends_on));
    return all;
}

template<typename Key>
void move_valid(std::map<Key, UniqueFd> &from, const std::set<Key> &keys, std::vector<UniqueFd> &to)
{
    for (auto &[key, fd] : from) {
        if (keys.contains(key) && fd.valid())
            to.push_back(std::move(fd));
    }
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
        LeaseStore::Session session = store_->open(LeaseStore::patience_at_the_end, ticket_);
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
            lease.exchange_for(std::move(again));
            ticket_ = number;
            continue;
        }
        if (attempt.is_outdated || (!attempt.preemption.steps.empty() && preempt_all(attempt)))
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
    LeaseStore::Session session = store_->open(LeaseStore::patience, ticket_);
    const std::int64_t now = boottime_ns();
    for (const auto &[init, why] : preempted_)
        session.explain_end(init, why);
    expire(session.state(), now);
    if (!is_in(session.state(), ticket_)) {
        ticket_ = 0;
        session.read_later();
        expire(session.state(), now);
    }
    drop_missing_holders(processes_, session.state(), request_.demand);
    if (ticket_ == 0) // those who wait behind others look at these alone
        drop_missing_tickets(session.state(), request_.demand);
    further_ = beside_earlier(session.state(), holder_.first.init, request_);
    leave_out(unfit_, further_.demand, request_.name_device);
    other_use_.compare(processes_, session.state(), further_.demand);
    const Claim claim{holder_.first.init, further_.demand, ticket_, other_use_.gpus()};
    // Whoever is in nobody's way need not be looked at closely, which takes longest.
    session.note_ends();
    Present present;
    Decision decision = decide(session.state(), claim, now, Depth::Enough);
    while (drop_gone(processes_, session.state(),
                     decision.granted ? all_that_count(session.state(), decision) : decision.obstacles,
                     present)) {
        drop_missing_tickets(session.state(), request_.demand);
        session.note_ends();
        decision = decide(session.state(), claim, now, Depth::Enough);
    }
    Attempt attempt;
    if (decision.granted) {
        check_count(session.state(), *decision.granted);
        attempt.notes = other_use_.notes(session.state(), decision, further_.demand);
        Ticket request = ticket(now);
        request.number = ticket_;
        attempt.grant = enter(session.state(), holder_.first, request, *decision.granted, now);
        note_limits(session.state(), now);
        attempt.grant.requests_before =
            note_request(session.state(), holder_.first.init, further_, *decision.granted);
        attempt.granted = decision.granted;
    } else {
        attempt = blocked(session.state(), decision, std::move(present), now);
    }
    session.save();
    if (attempt.granted || attempt.ticket != 0)
        say_whose(session.state());
    if (!attempt.grant.added.empty())
        note_grant(store_->folder(), store_->history(), request_, attempt.grant.added, now - asked_ns_);
    ticket_ = attempt.ticket; // a number that was not saved may become that of another request
    return attempt;
}

/** What tells later how long it may have what it was given, and whether something has begun in it. */
void LeaseAcquisition::note_limits(LeaseState &state, std::int64_t now) const
{
    for (Allocation &allocation : state.allocations) {
        if (allocation.holder.init != holder_.first.init)
            continue;
        if (allocation.taken_ns == now && contains(request_.preemption.idle_inits, request_.program))
            allocation.others_cpu_ns = cpu_of_others(processes_, allocation.holder);
        if (!request_.hold)
            continue;
        const std::int64_t until = allocation.taken_ns + request_.hold->most.count();
        if (!allocation.limit || until < allocation.limit->until_ns)
            allocation.limit = HoldLimit{until, request_.hold->grace.count(), request_.hold->signal};
    }
}

void LeaseAcquisition::check_count(const LeaseState &state, const std::vector<LeaseKey> &granted) const
{
    if (!request_.max_devices || granted.empty())
        return;
    const size_t count = count_with(state, holder_.first.init, granted, request_.counted);
    if (count > *request_.max_devices)
        throw Error(ErrorKind::Denied, "with what it was given before the container would have " +
                                           std::to_string(count) + " " + request_.word +
                                           ", and --max-devices allows " +
                                           std::to_string(*request_.max_devices));
}

LeaseAcquisition::Attempt LeaseAcquisition::blocked(LeaseState &state, const Decision &decision,
                                                    Present present, std::int64_t now)
{
    const Claim claim{holder_.first.init, further_.demand, ticket_};
    Attempt attempt;
    attempt.may_wait =
        !decision.is_hopeless && !has_something(state, holder_.first.init) && now < deadline_ns_;
    attempt.wake_ns = deadline_ns_;
    const bool is_first = !decision.is_hopeless && !decision.is_behind;
    if (is_first || !attempt.may_wait)
        look_at_holders(state, claim, is_first, present, now, attempt);
    if (attempt.is_outdated) {
        attempt.ticket = ticket_;
        return attempt;
    }
    const bool preempts = !attempt.preemption.steps.empty();
    attempt.ticket = ticket_ == 0 && (attempt.may_wait || preempts) ? enqueue(state, now, preempts) : ticket_;
    if (attempt.ticket != 0)
        watch(state, std::move(present), now, attempt);
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
    Endings endings = look_for_endings(processes_, state, holders, request_.preemption, attempt.watched, now);
    if (!attempt.may_wait) {
        attempt.busy = busy_text(state, all, claim.demand, request_.name_device, endings);
        std::erase_if(endings, [](const auto &each) { return each.second.why == EndReason::HeldTooLong; });
    }
    if (!is_first)
        return;
    attempt.preemption = plan_preemption(state, claim, endings, now);
    note_asked(state, attempt.preemption, now);
    attempt.wake_ns = std::min(attempt.wake_ns, attempt.preemption.look_again.value_or(attempt.wake_ns));
}

/** Notes what is watched from now on with the request that waits. */
void LeaseAcquisition::watch(LeaseState &state, Present present, std::int64_t now, Attempt &attempt) const
{
    Ticket &ticket = *std::find_if(state.tickets.begin(), state.tickets.end(),
                                   [&](const Ticket &one) { return one.number == attempt.ticket; });
    const Claim claim{ticket.holder.init, ticket.demand, ticket.number};
    Obstacles watched = decide(state, claim, now, Depth::Enough).obstacles;
    ticket.watched = watched_of(state, watched);
    if (ticket.watched->drain_ns != 0)
        attempt.wake_ns = std::min(attempt.wake_ns, ticket.watched->drain_ns);
    if (version_for(state) == 1 || watches_too_much(ticket)) {
        ticket.watched.reset();
        watched = all_that_count(state, decide(state, claim, now));
    }
    if (drop_gone(processes_, state, watched, present))
        attempt.wake_ns = now;
    attempt.wake_ns = next_deadline(state, watched.tickets, attempt.wake_ns);
    move_valid(present.holders, watched.holders, attempt.watched);
    move_valid(present.tickets, watched.tickets, attempt.watched);
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
    return queue(state, std::move(request));
}

/** @return whether all have ended; else what to watch is added. */
bool LeaseAcquisition::preempt_all(Attempt &attempt)
{
    bool have_ended = true;
    for (const EndStep &step : attempt.preemption.steps) {
        Preemption result = preempt(processes_, step);
        if (result.has_ended || step.signal)
            say({{LogLevel::Warning, to_text(step)}});
        if (result.has_ended) {
            preempted_[step.holder.init] = "preempted: " + std::string(to_word(step.why));
            count_takeover(store_->folder());
        }
        if (result.busy_with.valid())
            attempt.watched.push_back(std::move(result.busy_with));
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
        try_to_note_people(store_->folder(), state, holder_.first.init, request_.label);
    is_known_ = true;
}

void LeaseAcquisition::wait_for(const Attempt &attempt)
{
    if (!companions_) {
        companions_ = companions(std::move(holder_.second), request_.runtime);
        ::malloc_trim(0); // all tickets were read once: a thousand that wait would keep half a GB for that
    }
    sleep_until_one_ends(*companions_, attempt.watched, attempt.wake_ns);
}

} // namespace ogh
