// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/log.h"
#include "edits/edits.h"
#include "listing/listing.h"
#include "mount-srv/directory_request.h"
#include "mount-srv/inventory.h"

namespace ogh::mount_srv {

/** The host's side: where directories appear, and which may be handed out in which way. */
struct Policy {
    std::string target_dir = "/srv";
    bool writable_by_name = true; ///< false: nothing is writable
    bool idmap = false; ///< map the owners of writable directories into the container's user namespace
    std::optional<std::set<std::string>> allow; ///< nothing: all
};

/** By --allow. */
bool is_allowed(const std::string &name, const Policy &policy);

/** By its name and --writable, where nobody asks for less. */
bool is_writable(const Directory &directory, const Policy &policy);

/** @throws Error (Usage) for an empty name in an --allow list */
std::set<std::string> parse_allow(const std::string &list);

/** Hands out only what is in this --allow list as well. @throws Error (Usage) as parse_allow() */
void limit(Policy &policy, const std::string &list);

/**
 * Chooses the directories that are mounted. Pure.
 * @param notes what is left out of `all`, and why there is nothing to do
 * @throws Error: NotAvailable for a name that this host does not offer, which lists what it does offer; Policy
 *         for one that the host does not allow; Host for one that is not safe to hand out
 */
Edits plan(const DirectoryRequest &request, const Inventory &inventory, const Policy &policy, Notes &notes);

/** What --list says: a row for each entry of the source directory, in the order of Inventory::directories. Pure. */
HostListing list_directories(const Inventory &inventory, const Policy &policy);

} // namespace ogh::mount_srv
