// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/log.h"
#include "request/candidate.h"
#include "request/selectors.h"

namespace ogh {

/** Whether nobody holds the device; asked only where there is a choice. */
using IsFree = std::function<bool(const Candidate &)>;

/**
 * Chooses devices. Pure.
 *
 * What is named must be given, all of it, or that is an error. `all` and groups are as much of them as the policy allows:
 * where --max-devices cuts them short, free ones come first. `any:N` is N free ones beyond those.
 *
 * @param selectors with `environment` already replaced by what the variables say
 * @param candidates in PCI order
 * @param is_free nothing: all are
 * @param notes what is left out of `all` and of groups
 * @return places in `candidates`, ascending; empty only for `none`
 * @throws Error: NotAvailable for what this host does not have, with all that there is; Policy for what it does not
 *         allow, with all that may be given; Busy if too few are free for `any:N`; a candidate's own code for its problem
 */
std::vector<size_t> resolve(const Selectors &selectors, const std::vector<Candidate> &candidates,
                            const SelectionPolicy &policy, const IsFree &is_free, Notes &notes);

} // namespace ogh
