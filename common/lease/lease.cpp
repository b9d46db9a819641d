// SPDX-License-Identifier: Apache-2.0
#include "lease/lease.h"

namespace ogh {

Lease::Lease(Lease &&other) noexcept
    : store_(std::exchange(other.store_, nullptr)), grant_(std::move(other.grant_)),
      devices_(std::move(other.devices_))
{
}

Lease::~Lease()
{
    try {
        release();
    } catch (...) { // NOLINT(bugprone-empty-catch): it is free when the container has ended
    }
}

void Lease::release()
{
    const LeaseStore *store = std::exchange(store_, nullptr);
    if (store == nullptr || (grant_.added.empty() && grant_.raised.empty() && !grant_.requests_before))
        return;
    LeaseStore::Session session = store->open(LeaseStore::patience_at_the_end);
    take_back(session.state(), grant_);
    session.save();
}

} // namespace ogh
