// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "image/container_view.h"

namespace ogh {

/**
 * What an earlier request has left in an injected tmpfs of this container, which is not entered yet: what is brought
 * along depends on it.
 * @param path absolute inside the container
 * @return nothing if there is no such file, or it is not on an injected tmpfs: an image may have one of that name
 */
std::optional<std::string> read_previous_request(ContainerView &view, const std::string &path);

} // namespace ogh
