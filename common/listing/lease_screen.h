// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "listing/listing.h"

namespace ogh {

/**
 * What of a list of GPUs and leases, as lease_listing.h makes it, fits a screen of 80 columns: the name of a container or
 * the beginning of its id, whose it is, times to the minute. Pure. Whatever is cut ends in `~`, and is ASCII.
 */
HostListing screen_of(const HostListing &listing);

} // namespace ogh
