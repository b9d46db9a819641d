// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include "host/pci_address.h"
#include "request/candidate.h"
#include "request/selectors.h"

namespace ogh {

/**
 * Where the devices are that resolve() may choose of. Pure.
 * @param selectors, candidates, policy as for resolve()
 */
std::set<PciAddress> addresses_meant(const Selectors &selectors, const std::vector<Candidate> &candidates,
                                     const SelectionPolicy &policy);

/** Where all of them are. */
std::set<PciAddress> addresses_of(const std::vector<Candidate> &candidates);

} // namespace ogh
