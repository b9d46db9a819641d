// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace ogh {

/**
 * The container's state as the runtime writes it to a hook's stdin (OCI runtime specification, "State").
 *
 * Its annotations are left out on purpose: under runc a key with `=` in config.json comes back in the state as
 * another key, so only config.json is believed.
 */
struct State {
    std::string id;
    pid_t pid = 0;      ///< the container's init as this host numbers it; 0 if the state has none
    std::string bundle; ///< absolute
    /**
     * The status when it is none of a container that is being created: "stopped" from runc while it restores one from a
     * checkpoint, "running" or "paused" from whoever calls a hook too late. Else empty; runc and youki say "creating" to
     * a hook that is called in time, crun "created".
     */
    std::string not_creating = {};
};

/**
 * Reads what runc, crun and youki write; members that are not needed may have any type.
 * @throws Error if a member that is needed is absent or of the wrong type
 */
State parse_state(std::string_view text);

} // namespace ogh
