// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "host/pci_address.h"
#include "request/selectors.h"

namespace ogh {

/** A device of this host that a container may ask for. A vendor's inventory makes the list, in PCI order. */
struct Candidate {
    /** Its place as the vendor's tools count; nothing for what they do not count. */
    std::optional<unsigned> index;
    PciAddress address;
    /** Of a part of a device: that device's place in the list. It is allowed where that one is. */
    std::optional<size_t> whole = {};
    std::string lease_key;           ///< the same for every name of it; see LeaseKey
    std::vector<std::string> names;  ///< each means this device; the case of letters does not matter
    std::vector<std::string> groups; ///< each means those devices of the group that may be given
    std::string description;         ///< for lists; plain text that can be pasted back, such as the UUID
    std::string problem;             ///< why it cannot be handed out; "" if it can
    ErrorKind problem_kind = ErrorKind::BrokenHost; ///< of the error if it is asked for nevertheless
    /** Why `all` and `any` leave it out although a name or a group may have it; "" if they do not. */
    std::string only_by_name;
    std::string closed =
        {}; ///< why this process may not open it; "" if it may, or nobody asked for `allowed`
    bool looks_dead = false; ///< that is its problem, see mark_dead()
};

/** The host's side. */
struct SelectionPolicy {
    std::optional<Selectors> allow = {};      ///< as parse_allowed_selectors() makes it; nothing: all
    std::optional<unsigned> max_devices = {}; ///< for one container
    bool is_most_by_key = false;              ///< it is the key's, which allows less than the host
    std::optional<Selectors> allow_too =
        {};                      ///< of the key that was given; what is not in both is not handed out
    bool ignores_health = false; ///< nobody looks whether GPUs look dead
};

} // namespace ogh
