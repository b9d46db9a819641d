// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "error.h"
#include "log.h"
#include "pci_address.h"
#include "selectors.h"

namespace ogh {

/** A device of this host that a container may ask for. A vendor's inventory makes the list, in PCI order. */
struct Candidate {
    /** Its place as the vendor's tools count; nothing for what they do not count. */
    std::optional<unsigned> index;
    PciAddress address;
    std::vector<std::string> names;  ///< each means this device; the case of letters does not matter
    std::vector<std::string> groups; ///< each means those devices of the group that may be had
    std::string description;         ///< for lists; plain text that can be pasted back, such as the UUID
    std::string problem;             ///< why it cannot be handed out; "" if it can
    ExitCode problem_code = ExitCode::Host; ///< of the error if it is asked for all the same
    /** Why `all` and `any` leave it out although a name or a group may have it; "" if they do not. */
    std::string only_by_name;
};

/** The host's side. */
struct SelectionPolicy {
    std::optional<Selectors> allow = {};      ///< as parse_allowed_selectors() makes it; nothing: all
    std::optional<unsigned> max_devices = {}; ///< for one container
    std::optional<Selectors> allow_too =
        {}; ///< of the key that was given; what is not in both is not handed out
};

/** Whether nobody holds the device; asked only where there is a choice. */
using IsFree = std::function<bool(const Candidate &)>;

/**
 * Chooses devices. Pure.
 *
 * What is named must be had, all of it, or that is an error. `all` and groups are as much of them as the policy allows:
 * where --max-devices cuts them short, free ones come first. `any:N` is N free ones beyond those.
 *
 * @param selectors with `environment` already replaced by what the variables say
 * @param candidates in PCI order
 * @param is_free nothing: all are
 * @param notes what is left out of `all` and of groups
 * @return places in `candidates`, ascending; empty only for `none`
 * @throws Error: NotAvailable for what this host does not have, with all that there is; Policy for what it does not
 *         allow, with all that may be had; Busy if too few are free for `any:N`; a candidate's own code for its problem
 */
std::vector<size_t> resolve(const Selectors &selectors, const std::vector<Candidate> &candidates,
                            const SelectionPolicy &policy, const IsFree &is_free, Notes &notes);

} // namespace ogh
