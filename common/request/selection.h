// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "host/pci_address.h"
#include "request/availability.h"
#include "request/key_file.h"
#include "request/selectors.h"

namespace ogh {

/** What a request means: places in the list of candidates, ascending. */
struct Choice {
    std::vector<size_t> fixed;
    unsigned any = 0;                ///< how many of `candidates` besides: whoever knows what is free chooses
    std::vector<size_t> candidates;  ///< none of them is in `fixed`
    std::vector<size_t> others = {}; ///< all that `any` could mean; none of them is in `fixed`
};

/**
 * Chooses devices. Pure.
 *
 * What is named must be given, all of it, or that is an error. `all` and groups are as much of them as the policy allows:
 * where --max-devices cuts them short, it is any of them. `any:N` is N beyond those that are named, and `any:GROUP:N` N of
 * the group. `allowed` is of `all` what this process may open itself.
 *
 * @param selectors with `environment` already replaced by what the variables say
 * @param candidates in PCI order
 * @param notes what is left out of `all` and of groups
 * @return nothing at all only for `none`
 * @throws Error: NotAvailable for what this host does not have, with all that there is, and where nothing may be opened; Denied for what it does not
 *         allow, with all that may be given; a candidate's own code for its problem
 */
Choice resolve(const Selectors &selectors, const std::vector<Candidate> &candidates,
               const SelectionPolicy &policy, Notes &notes);

/** "any:2" or "any:gfx1100:2" @param group "" for any at all */
std::string any_text(unsigned count, const std::string &group);

/** The choice where nothing is known of what is free: the first of the candidates. @return ascending */
std::vector<size_t> first_of(const Choice &choice);

/**
 * Where the devices are that resolve() may choose of. Pure.
 * @param selectors, candidates, policy as for resolve()
 */
std::set<PciAddress> addresses_meant(const Selectors &selectors, const std::vector<Candidate> &candidates,
                                     const SelectionPolicy &policy);

/** Where all of them are. */
std::set<PciAddress> addresses_of(const std::vector<Candidate> &candidates);

/** Adds what the key allows that the container has asked with. @throws Error (Usage) */
void limit(SelectionPolicy &policy, const KeyLimits &limits);

} // namespace ogh
