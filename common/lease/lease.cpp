// SPDX-License-Identifier: Apache-2.0
#include "lease/lease.h"

#include <exception>

#include "base/error.h"
#include "lease/lease_bounds.h"
#include "lease/lease_file.h"

namespace ogh {

Lease::Lease(Lease &&other) noexcept
    : store_(std::exchange(other.store_, nullptr)), grant_(std::move(other.grant_)),
      devices_(std::move(other.devices_))
{
}

void Lease::note_rules(const DeviceRules &rules)
try {
    if (store_ == nullptr)
        return;
    LeaseStore::Session session = store_->open(LeaseStore::patience_at_the_end);
    for (Allocation &allocation : session.state().allocations) {
        if (allocation.holder.init != grant_.init || (grant_.added.empty() && allocation.rules))
            continue;
        // Those of an earlier request are known no more: enter_grant() has seen to it.
        allocation.rules = allocation.rules ? DeviceRules() : rules;
        if (stored_size(allocation) > max_lease_entry)
            allocation.rules = DeviceRules();
    }
    session.save();
} catch (const Error &) {
    return; // so it can be ended, and not taken from
}

void Lease::release() noexcept
{
    const std::shared_ptr<const LeaseStore> store = std::exchange(store_, nullptr);
    if (store == nullptr || (grant_.added.empty() && grant_.changed.empty() && !grant_.requests_before))
        return;
    try {
        LeaseStore::Session session = store->open(LeaseStore::patience_at_the_end);
        take_back(session.state(), grant_);
        session.expect_all();
        session.explain_end(grant_.init, "not started");
        session.save();
    } catch (const std::exception &) {
        return; // there is nothing to be done about it, and no time to wait
    }
}

void Lease::exchange_for(Ticket request)
{
    LeaseStore::Session session = store_->open();
    take_back(session.state(), grant_);
    session.explain_end(grant_.init, "not started");
    queue_again(session.state(), std::move(request));
    session.save();
    store_.reset();
}

} // namespace ogh
