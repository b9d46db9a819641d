// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "oci/config.h"

namespace ogh {

/** What people call a container, and whose it is. All of it may be anybody's text, and decides nothing. */
struct ContainerLabel {
    std::string name;  ///< as its engine calls it; in a pod "POD/CONTAINER"; "" where that is not known here
    std::string image; ///< as whoever started it called it
    std::string user;  ///< the namespace of a pod; else the number of the user who logged in (login_user())
    std::string asker = {};  ///< by what it asks: "key:nightly", "tag", "annotation"
    std::string bundle = {}; ///< its directory, from the state

    bool operator==(const ContainerLabel &) const = default;
};

/**
 * What the container's annotations say of it: those that containerd's CRI and CRI-O write. Pure; `asker` and `bundle` are
 * empty, and texts are cut.
 */
ContainerLabel label_of(const Config &config);

/** The user by whose login this process was started, as with sudo: /proc/self/loginuid, proc(5); "" if there was none. */
std::string login_user();

} // namespace ogh
