// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/log.h"
#include "edits/edits.h"
#include "listing/listing.h"
#include "mount-srv/inventory.h"
#include "request/request.h"

namespace ogh::mount_srv {

/** Which directories a container asks for. */
struct DirectoryRequest {
    bool all = false;
    std::set<std::string> names;
    std::set<std::string> read_only; ///< those of `names` that were asked for as `name:ro`
    bool all_read_only = false;      ///< `all:ro`

    bool operator==(const DirectoryRequest &) const = default;
};

/**
 * Understands `none`, or `all` or `NAME[:ro],...`; blanks around names and repeats are allowed, `:ro` wins over none.
 * @throws Error (Usage) for an empty name, `.`, `..`, a `/` or a NUL, and for `none` beside others
 */
DirectoryRequest parse_directory_request(const RequestValue &asked);

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
