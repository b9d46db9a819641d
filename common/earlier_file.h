// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "entered_container.h"

namespace ogh {

/**
 * What an earlier request has left in a tmpfs of ours in this container, which is not entered yet: what is brought
 * along depends on it.
 * @param tree where the tmpfs is mounted, absolute inside the container
 * @param name of the file, relative to it
 * @return nothing if there is no such file, or it is not on a tmpfs of ours: an image may have one of that name
 */
std::optional<std::string> read_earlier_file(const Container &container, const std::string &tree,
                                             const std::string &name);

} // namespace ogh
