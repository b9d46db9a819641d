// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lease/lease_request.h"
#include "lease/waiting/lease_store.h"

namespace ogh {

/** See Leases::take(). @throws Error as that does */
Lease acquire(std::shared_ptr<const LeaseStore> store, const LeaseRequest &request);

} // namespace ogh
