// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "host/sysroot.h"

namespace ogh {

/**
 * Where the root of a user namespace keeps the leases of its containers: as with the engine of a user, or in a system
 * container of LXD's. `/run` where that root owns it, or else `/run/user/UID` of the user who is that root outside, as
 * /proc/self/uid_map has it; nothing of it by a symlink.
 */
struct LeasePlace {
    UniqueFd directory; ///< the directory of that root's
    std::string path;   ///< its name
    std::string scope;  ///< whose containers the leases bind, for people: "the containers of user 1000"
};

/**
 * Of this process's user namespace, which is not the first one.
 * @return nothing if there is none: then there are no leases
 * @throws Error
 */
std::optional<LeasePlace> find_lease_place(const Sysroot &sysroot);

/** What is to be done where there is none, for messages. @throws Error */
std::string why_no_lease_place();

} // namespace ogh
