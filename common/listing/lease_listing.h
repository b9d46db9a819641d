// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lease/leases.h"
#include "listing/listing.h"
#include "request/availability.h"

namespace ogh {

/** What a worker's tags say of a vendor. */
struct GpuTags {
    const char *type;     ///< "nvidia"
    const char *platform; ///< "cuda"
};

/** What is known of a host's GPUs besides their table. */
struct GpuState {
    std::vector<Candidate> gpus; ///< in the order of the rows
    SelectionPolicy policy;
    LeaseList leases;
    GpuTags tags;
    LeaseMode least = LeaseMode::Shared; ///< of a container that does not say which lease it wants
    /** Whole GPUs that cannot be given as somebody uses them without a lease, and who that is. */
    std::map<LeaseKey, std::string> used = {};
};

/**
 * The text to print, with a newline at its end: a table or JSON with the lease of each GPU and with who has or waits for
 * GPUs of this vendor; the tags of a worker of Concourse, one a line; or one line for a status bar.
 * @param listing has a row for each GPU, the state in its last column; gets a column and a table more
 */
std::string to_text(HostListing &listing, const GpuState &state, ListFormat format);

/**
 * What of a list of GPUs and leases, as lease_listing.h makes it, fits a screen of 80 columns: the name of a container or
 * the beginning of its id, whose it is, times to the minute. Pure. Whatever is cut ends in `~`, and is ASCII.
 */
HostListing screen_of(const HostListing &listing);

} // namespace ogh
