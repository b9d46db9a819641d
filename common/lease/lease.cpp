// SPDX-License-Identifier: Apache-2.0
#include "lease/lease.h"

#include <exception>

namespace ogh {

Lease::Lease(Lease &&other) noexcept
    : store_(std::exchange(other.store_, nullptr)), grant_(std::move(other.grant_)),
      devices_(std::move(other.devices_))
{
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
