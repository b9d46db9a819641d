// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "lease/leases.h"

namespace ogh {

/** What podman calls a container. */
struct PodmanName {
    std::string name;
    std::string image;

    bool operator==(const PodmanName &) const = default;
};

/**
 * What a `containers.json` of containers/storage says, by the id of each container: "id", "names", and "image-name" in the
 * JSON text "metadata". @throws Error (Failure) if it cannot be understood
 */
std::map<std::string, PodmanName> parse_podman_names(std::string_view text);

/**
 * Adds name and image of those that podman has started, in whose storage the bundle lies: as STORAGE/ID/userdata, beside
 * STORAGE/containers.json and volatile-containers.json (for --rm). podman is not run. Files that are not this user's alone to write, or
 * cannot be read, say nothing: it is for people alone.
 */
void add_podman_names(LeaseList &leases);

} // namespace ogh
